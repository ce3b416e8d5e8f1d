"use strict";
(() => {
  const find = (name) => document.getElementById(name);
  const rows = [...document.querySelectorAll("tr[data-version]")];
  const slider = find("scrubber");
  find("scrub").hidden = false;
  slider.addEventListener("input", () => {
    const at = Number(slider.value);
    find("shown").textContent = String(at);
    for (const row of rows) {
      const version = Number(row.dataset.version);
      row.classList.toggle("later", version > at);
      row.classList.toggle("now", version === at);
    }
  });

  const bytes = (text) => new TextEncoder().encode(text);
  const hex = (data) => [...data].map((each) => each.toString(16).padStart(2, "0")).join("");
  const unhex = (text) => Uint8Array.from(text.match(/../g) || [], (pair) => parseInt(pair, 16));
  const decoded = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const digest = async (data) => new Uint8Array(await crypto.subtle.digest("SHA-256", data));
  const joined = (...parts) => {
    const result = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts) {
      result.set(part, at);
      at += part.length;
    }
    return result;
  };
  const same = (a, b) => hex(a) === hex(b);
  const sized = (data) => {
    const size = new Uint8Array(4);
    new DataView(size.buffer).setUint32(0, data.length);
    return joined(size, data);
  };
  const hashed = (previous, session, event) => {
    const parts = [previous, sized(bytes(session)), sized(bytes(String(event.version))), sized(bytes(event.type))];
    if (event.form !== 1) parts.push(bytes(`form ${event.form}`));
    return digest(joined(...parts, bytes(event.state)));
  };

  const proves = async (data, proof, size, root) => {
    let place = proof.index, last = size - 1;
    let value = await digest(joined(Uint8Array.of(0), data));
    if (!(place >= 0 && place < size)) return false;
    for (const part of proof.path) {
      if (last === 0) return false;
      if (place % 2 || place === last) {
        value = await digest(joined(Uint8Array.of(1), unhex(part), value));
        while (place % 2 === 0 && place) {
          place = Math.floor(place / 2);
          last = Math.floor(last / 2);
        }
      } else value = await digest(joined(Uint8Array.of(1), value, unhex(part)));
      place = Math.floor(place / 2);
      last = Math.floor(last / 2);
    }
    return last === 0 && same(value, root);
  };

  const signedHead = async (record) => {
    const [body, signatures] = record.checkpoint.split("\n\n");
    const [origin, size, root] = body.split("\n");
    const key = decoded(record.publicKey);
    const id = (await digest(joined(bytes(`${origin}\n`), Uint8Array.of(1), key))).slice(0, 4);
    const made = await crypto.subtle.importKey("raw", key, { name: "Ed25519" }, false, ["verify"]);
    for (const line of signatures.split("\n")) {
      const [, name, value] = line.split(" ");
      if (name !== origin || !value) continue;
      const signature = decoded(value);
      if (!same(signature.slice(0, 4), id)) continue;
      if (await crypto.subtle.verify({ name: "Ed25519" }, made, signature.slice(4), bytes(`${body}\n`)))
        return { size: Number(size), root: decoded(root) };
    }
    return null;
  };

  const unpacked = async (data) => {
    const stream = new Blob([data]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  };

  /** The hash of a cut event says nothing about what is left of it, and a text may be missing: all of it is signed. */
  const isAsSigned = async (text, record, signature) => {
    const given = decoded(signature);
    if (btoa(String.fromCharCode(...given)) !== signature) return false;
    const key = await crypto.subtle.importKey("raw", decoded(record.publicKey), { name: "Ed25519" }, false, ["verify"]);
    return crypto.subtle.verify({ name: "Ed25519" }, key, given, bytes(`hansard shared record\n${text}`));
  };

  const check = async () => {
    const { textContent: text, nextElementSibling: beside } = find("record");
    const faults = [];
    const record = await unpacked(decoded(text));
    const head = await signedHead(record);
    if (head === null) return [...faults, "signature"];
    if (!(await isAsSigned(text, record, beside.dataset.signature))) faults.push("signature");
    let previous = new Uint8Array();
    const proofs = new Map(record.proofs.map((proof) => [proof.version, proof]));
    for (const [place, event] of record.events.entries()) {
      const own = unhex(event.hash), next = record.events[place + 1];
      if (event.version !== place + 1 || own.length !== 32) faults.push(event.version);
      else if (!event.cut && !same(own, await hashed(previous, record.session, event))) faults.push(event.version);
      if (!next || event.cut || next.cut) {
        const proof = proofs.get(event.version);
        if (!proof || !(await proves(own, proof, head.size, head.root))) faults.push(event.version);
      }
      previous = own;
    }
    for (const [name, words] of Object.entries(record.texts))
      if (words !== beside.dataset.redacted && hex(await digest(bytes(words))) !== name)
        faults.push(name.slice(0, 12));
    return faults;
  };

  const button = find("check"), told = find("told");
  button.hidden = false;
  button.addEventListener("click", async () => {
    const say = (name, more = "") => {
      told.textContent = button.dataset[name] + more;
      told.className = name === "good" ? "good" : "bad";
    };
    if (!globalThis.crypto?.subtle || !globalThis.DecompressionStream) return say("cannot");
    try {
      const faults = await check();
      if (faults.length) say("bad", ` ${[...new Set(faults)].slice(0, 20).join(", ")}`);
      else say("good");
    } catch (error) {
      if (error?.name === "NotSupportedError") say("cannot");
      else say("bad", ` ${error}`);
    }
  });
})();
