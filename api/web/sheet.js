// "Try it differently" beside the session: the page of the form, shown as a side sheet.

/** `parsed` makes a document of our own page. */
export function sheets({ parsed }) {
  let box = null;

  function made() {
    box = document.createElement("dialog");
    box.className = "sheet";
    document.body.append(box);
    return box;
  }

  async function open(address) {
    const answer = await fetch(address, { headers: { Accept: "text/html" } });
    const found = answer.ok ? parsed(await answer.text()).getElementById("sheet") : null;
    if (!found) return location.assign(address);
    const sheet = box ?? made();
    const [content, close] = [document.importNode(found, true), document.createElement("button")];
    close.type = "button";
    close.className = "button plain shut";
    close.textContent = "✕";
    close.setAttribute("aria-label", JSON.parse(document.body.dataset.words).close);
    close.addEventListener("click", () => sheet.close());
    sheet.replaceChildren(close, content);
    sheet.setAttribute("aria-labelledby", "sheet-title");
    if (!sheet.open) sheet.showModal();
    sheet.scrollTop = 0;
    spell(sheet);
    (content.querySelector("[aria-current]") ?? content.querySelector("a, input, button")).focus();
    return undefined;
  }

  /** The same as a command line, with what was chosen so far. */
  function spell(sheet) {
    const form = sheet.querySelector("form[data-otherwise]");
    const place = sheet.querySelector("[data-fork-command]");
    if (!form || !place) return;
    const fields = new FormData(form);
    const quoted = (words) => (/^[\w.:/@+-]+$/.test(words) ? words : `'${words.replaceAll("'", "'\\''")}'`);
    const named = [...fields].flatMap(([name, value]) => {
      const [kind, ...rest] = name.split(".");
      const option = { agent: "--agent", model: "--model" }[kind];
      return option && rest.length && value.trim() ? [`${option} ${quoted(`${rest.join(".")}=${value.trim()}`)}`] : [];
    });
    const id = decodeURIComponent(new URL(form.action).pathname.split("/")[2]);
    const change = fields.get("change");
    if (change === "decision") named.push(`--decision ${fields.get("decision")}`);
    if (change === "profile") named.push(`--profile ${fields.get("profile")}`);
    if (change === "addIterations") named.push(`--iterations ${fields.get("amount")}`);
    if (change === "addRounds") named.push(`--rounds ${fields.get("amount")}`);
    if (["approve", "findings", "verdicts", "review", "debate", "text"].includes(change)) named.push("--answer …");
    place.textContent = ["hansard fork", id, "--at", fields.get("at"), "--mode", fields.get("mode"), ...named].join(" ");
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-sheet]");
    if (!link || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    open(link.href).catch(() => location.assign(link.href));
  });

  /** What is typed into a choice's fields chooses it. */
  document.addEventListener("input", ({ target }) => {
    const form = target.closest("form[data-otherwise]");
    if (!form) return;
    const rows = target.closest("[data-with]");
    const choice = rows && [...form.elements.change].find((each) => each.value === rows.dataset.with);
    if (choice) choice.checked = true;
    spell(form.closest("dialog") ?? document);
  });
}
