"use strict";
// Switches for the methods, and values where the pointer is. The page says everything without this, too.
document.documentElement.classList.add("js");

function show(mark, shown) {
  for (const part of document.querySelectorAll(`[data-mark="${mark}"]`)) part.classList.toggle("off", !shown);
  for (const box of document.querySelectorAll(`[data-switch="${mark}"]`)) box.checked = shown;
}

document.addEventListener("change", ({ target }) => {
  if (target.dataset.switch) show(target.dataset.switch, target.checked);
});

document.addEventListener("click", ({ target }) => {
  if (target.dataset.all === undefined) return;
  const boxes = target.closest(".key").querySelectorAll("[data-switch]");
  for (const box of boxes) show(box.dataset.switch, Boolean(target.dataset.all));
});

const tip = document.createElement("div");
tip.className = "tip";
tip.hidden = true;
document.body.append(tip);

// The browser would show a <title> as well, so its words move into an attribute.
function words(part) {
  const title = part.querySelector(":scope > title");
  if (title) {
    part.setAttribute("aria-label", title.textContent);
    title.remove();
  }
  return part.getAttribute("aria-label");
}

document.addEventListener("pointerover", ({ target }) => {
  const part = target.closest(".v");
  const said = part && words(part);
  tip.hidden = !said;
  if (!said) return;
  tip.textContent = said;
  const place = part.getBoundingClientRect();
  const left = place.left + place.width / 2 - tip.offsetWidth / 2;
  tip.style.left = `${Math.max(4, Math.min(left, innerWidth - tip.offsetWidth - 4))}px`;
  tip.style.top = `${place.top > tip.offsetHeight + 8 ? place.top - tip.offsetHeight - 6 : place.bottom + 6}px`;
});

document.addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });
