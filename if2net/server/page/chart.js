// The chart: a strip per class, the share of right answers over the steps. And the same as a table.

import { counted, find, make, makeSvg, percent } from "./elements.js";
import { asideCount, colourOf, steps } from "./memory.js";

const ALL = "All";

export function drawChart() {
  const points = steps();
  const names = [...new Set(points.flatMap((point) => Object.keys(point.counts)))];
  find("chart-hint").textContent = hint(points);
  find("chart-numbers").hidden = !points.length;
  if (!points.length) return find("chart").replaceChildren();
  const strips = [strip(ALL, points.map(total), points, "all"), ...names.map((name) => strip(name, points.map((point) => point.counts[name]), points, `colour-${colourOf(name)}`))];
  const last = counted(points.length, "step");
  find("chart").replaceChildren(
    make("ul", { class: "strips" }, ...strips),
    make("p", { class: "soft axis", "aria-hidden": "true" }, make("span", {}, "first step"), make("span", {}, last)),
  );
  find("chart-table").replaceChildren(...table(names, points));
}

function hint(points) {
  const aside = asideCount();
  if (!points.length) return "The chart begins when five pictures of one class have been added on this page.";
  if (!aside) return "The pictures that were set aside were in the memory of this page and are gone since it was loaded again. The chart goes on with the next five pictures of a class.";
  return `${counted(aside, "picture")} ${aside === 1 ? "is" : "are"} set aside. Each strip goes from 0 % at its foot to 100 % at its top.`;
}

function total(point) {
  return Object.values(point.counts).reduce(([right, all], count) => [right + count[0], all + count[1]], [0, 0]);
}

const share = (count) => count[0] / count[1];

function strip(name, counts, points, kind) {
  const known = counts.map((count, step) => ({ count, step })).filter(({ count }) => count);
  const now = counts.at(-1);
  return make(
    "li", { class: kind },
    make("span", { class: "strip-name" }, make("span", { class: "dot" }), name),
    drawing(known, points),
    make("b", {}, now ? percent(share(now)) : "–"),
  );
}

/** The line of one class, with a column per step. It is stretched to its place, so its strokes do not scale. */
function drawing(known, points) {
  const width = 100 / points.length;
  const y = (count) => 100 * (1 - share(count));
  const picture = makeSvg("svg", { viewBox: "0 -6 100 112", preserveAspectRatio: "none", "aria-hidden": "true" }, makeSvg("path", { class: "guide", d: "M0 0H100M0 100H100" }));
  // A line goes on only where the steps follow each other: after a new start of the page there is a gap.
  const runs = known.reduce((lists, point, index) => {
    if (index && known[index - 1].step === point.step - 1) lists.at(-1).push(point);
    else lists.push([point]);
    return lists;
  }, []);
  for (const run of runs) {
    const [left, right] = [width * run[0].step, width * (run.at(-1).step + 1)];
    const inner = run.map(({ count, step }) => `L${width * (step + 0.5)} ${y(count)}`).join("");
    const line = `${left} ${y(run[0].count)}${inner}L${right} ${y(run.at(-1).count)}`;
    picture.append(makeSvg("path", { class: "area", d: `M${left} 100L${line}L${right} 100Z` }), makeSvg("path", { class: "curve", d: `M${line}` }));
  }
  for (const { count, step } of known) {
    const title = makeSvg("title");
    title.textContent = `${points[step].what}: ${count[0]} of ${count[1]} right`;
    picture.append(
      makeSvg("path", { class: "point", d: `M${width * (step + 0.5)} ${y(count)}h.001` }),
      makeSvg("rect", { class: "target", x: width * step, y: -6, width, height: 112 }, title),
    );
  }
  return picture;
}

function table(names, points) {
  const cell = (count) => make("td", {}, count ? `${count[0]} of ${count[1]}` : "");
  const heading = (text) => make("th", { scope: "col" }, text);
  return [
    make("caption", {}, "Right answers to the pictures that are set aside, after each step"),
    make("thead", {}, make("tr", {}, heading("Step"), heading(ALL), ...names.map(heading))),
    make("tbody", {}, ...points.map((point, index) => make("tr", {}, make("th", { scope: "row" }, `${index + 1}. ${point.what}`), cell(total(point)), ...names.map((name) => cell(point.counts[name]))))),
  ];
}
