// Copy buttons, and the saved layout of the changes.

const LAYOUT = "hansard-changes";

/** `tell` announces to screen readers that something was copied. */
export function taking({ tell }) {
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const found = button.parentElement.querySelector("code");
    try {
      await navigator.clipboard.writeText(found.textContent);
      button.textContent = "✓";
      tell(button.getAttribute("aria-label") + " ✓");
    } catch {
      getSelection().selectAllChildren(found);
    }
  });

  document.addEventListener("change", ({ target }) => {
    if (target.closest("[data-how]")) localStorage.setItem(LAYOUT, target.value);
  });

  for (const found of document.querySelectorAll("[data-how] input")) {
    found.checked = found.value === (localStorage.getItem(LAYOUT) ?? "side");
  }

  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing || !event.target.matches("[data-send]")) return;
    const plain = event.target.dataset.send === "enter" && !event.shiftKey && matchMedia("(pointer: fine)").matches;
    if (!plain && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    event.target.form.requestSubmit();
  });

  /** Only one explanation of a line is open at a time. */
  document.addEventListener("click", ({ target }) => {
    for (const found of document.querySelectorAll(".by[open]")) if (!found.contains(target)) found.open = false;
  });
}
