// Pictures from files, folders, the clipboard and drops: found, scaled down, with a small copy to look at.

const SHORTER_SIDE = 512; // pixels; networks look at 288 or fewer
const AS_IT_IS = 256 * 1024; // bytes; a smaller file of few pixels is sent without a change
const UNSEEN_LIMIT = 20 * 1024 * 1024; // bytes of a file that the browser cannot show but the service may read
const THUMBNAIL = 112; // pixels; 56 on a fine screen
const SUFFIXES = /\.(jpe?g|jfif|png|bmp|gif|tiff?|webp|ppm|pgm|avif|heic)$/i;

/** Whether the type of a file is that of a picture. The service decides in the end. */
const looksLikePicture = (file) => file.type.startsWith("image/") || SUFFIXES.test(file.name);

/**
 * Make a file ready: `name`, `blob` to send, `url` of a small copy, or `reason` why it cannot be used.
 *
 * What the browser cannot show, such as a TIFF file, goes to the service as it is and has no small copy.
 */
export async function prepare(file) {
  const name = file.name || "a picture";
  if (!looksLikePicture(file)) return { name, reason: "It is not a picture." };
  let bitmap;
  try {
    bitmap = await createImageBitmap(file);
  } catch {
    if (file.size > UNSEEN_LIMIT) return { name, reason: "The browser cannot read it, and it is too large to send." };
    return { name, blob: file, url: null };
  }
  const shorter = Math.min(bitmap.width, bitmap.height);
  const keep = shorter <= SHORTER_SIDE && file.size <= AS_IT_IS;
  const blob = keep ? file : await drawn(bitmap, Math.min(1, SHORTER_SIDE / shorter));
  const url = URL.createObjectURL(await square(bitmap));
  bitmap.close();
  return { name, blob, url };
}

function drawn(bitmap, scale) {
  const width = Math.max(1, Math.round(bitmap.width * scale));
  const height = Math.max(1, Math.round(bitmap.height * scale));
  return painted(width, height, (context) => context.drawImage(bitmap, 0, 0, width, height));
}

function square(bitmap) {
  const side = Math.min(bitmap.width, bitmap.height);
  const [left, top] = [(bitmap.width - side) / 2, (bitmap.height - side) / 2];
  return painted(THUMBNAIL, THUMBNAIL, (context) => context.drawImage(bitmap, left, top, side, side, 0, 0, THUMBNAIL, THUMBNAIL));
}

/** A JPEG file of what `paint` draws; transparent pixels become white, as they do in the service. */
export function painted(width, height, paint) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width, height];
  const context = canvas.getContext("2d");
  context.fillStyle = "white";
  context.fillRect(0, 0, width, height);
  context.imageSmoothingQuality = "high";
  paint(context);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/jpeg", 0.92));
}

/**
 * The files of a drop or of the clipboard, as a list of `{file, folder}`.
 *
 * A folder is walked through; `folder` is the name of the innermost one, or null. Hidden files are left out.
 */
export function dropped(transfer) {
  // The entries must be taken before anything is awaited: the browser empties the transfer.
  const entries = Array.from(transfer.items ?? [], (item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return Promise.resolve(Array.from(transfer.files, (file) => ({ file, folder: null })));
  return Promise.all(entries.map((entry) => walked(entry, null))).then((lists) => lists.flat());
}

async function walked(entry, folder) {
  if (entry.name.startsWith(".")) return [];
  if (entry.isFile) return [{ file: await new Promise((resolve, reject) => entry.file(resolve, reject)), folder }];
  const reader = entry.createReader();
  const inside = [];
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject)); // a hundred at a time
    if (!some.length) break;
    inside.push(...some);
  }
  return (await Promise.all(inside.map((child) => walked(child, entry.name)))).flat();
}

/** The files of a file field; one for folders knows the path of each file. */
export function chosen(field) {
  const files = Array.from(field.files, (file) => ({ file, folder: file.webkitRelativePath.split("/").at(-2) ?? null }));
  field.value = ""; // so that the same files can be chosen again
  return files.filter(({ file }) => !file.name.startsWith("."));
}

/** Let a place take drops: it is marked while files hover over it. */
export function takeDrops(place, take) {
  let depth = 0; // entering a child leaves the parent
  const mark = (step) => {
    depth = Math.max(0, depth + step);
    place.classList.toggle("over", depth > 0);
  };
  const files = (event) => event.dataTransfer.types.includes("Files");
  place.addEventListener("dragenter", (event) => files(event) && mark(1));
  place.addEventListener("dragleave", (event) => files(event) && mark(-1));
  place.addEventListener("dragover", (event) => files(event) && event.preventDefault());
  place.addEventListener("drop", (event) => {
    event.preventDefault();
    event.stopPropagation();
    depth = 0;
    mark(0);
    dropped(event.dataTransfer).then(take);
  });
}
