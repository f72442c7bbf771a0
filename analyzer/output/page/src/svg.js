// SPDX-License-Identifier: MIT
// As much of CanvasRenderingContext2D as paint.js and ruler.js use, which makes an SVG picture instead.
//
// Invariant: text enters the picture escaped, whatever it is.
const escapes = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
const escaped = (text) => String(text).replace(/[&<>"']/g, (c) => escapes[c]).replace(/[^\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "\ufffd");
const round = (number) => Math.round(number * 100) / 100;

// As the browser has it: no address of another host is in the page, not even as a name.
function nameSpace() {
  const made = document.createElement("template");
  made.innerHTML = "<svg></svg>";
  return made.content.firstChild.namespaceURI;
}

export class SvgContext {
  constructor() {
    Object.assign(this, { fillStyle: "#000", strokeStyle: "#000", lineWidth: 1, globalAlpha: 1, font: "12px sans-serif", textBaseline: "middle" });
    this.measure = document.createElement("canvas").getContext("2d");
    this.parts = [];
    this.path = "";
    this.clipped = [0];  // by save(): clip()s since then
  }

  text(width, height, background) {
    const head = `<svg xmlns="${nameSpace()}" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`;
    return `${head}<rect width="100%" height="100%" fill="${escaped(background)}"/>${this.parts.join("")}</svg>\n`;
  }

  get opacity() {
    return this.globalAlpha === 1 ? "" : ` opacity="${round(this.globalAlpha)}"`;
  }

  rectText(x, y, width, height) {
    return `<rect x="${round(x)}" y="${round(y)}" width="${round(Math.max(0, width))}" height="${round(Math.max(0, height))}"`;
  }

  clearRect() {}

  setTransform() {}

  fillRect(x, y, width, height) {
    this.parts.push(`${this.rectText(x, y, width, height)} fill="${escaped(this.fillStyle)}"${this.opacity}/>`);
  }

  strokeRect(x, y, width, height) {
    this.parts.push(`${this.rectText(x, y, width, height)} fill="none" stroke="${escaped(this.strokeStyle)}" stroke-width="${this.lineWidth}"${this.opacity}/>`);
  }

  fillText(text, x, y) {
    const [, weight, size, family] = /^(\d+ )?([\d.]+px) (.*)$/.exec(this.font) ?? [null, "", "12px", "sans-serif"];
    const font = `font-family="${escaped(family)}" font-size="${size}"${weight ? ` font-weight="${weight.trim()}"` : ""}`;
    this.parts.push(`<text x="${round(x)}" y="${round(y)}" dominant-baseline="central" ${font} fill="${escaped(this.fillStyle)}"${this.opacity}>${escaped(text)}</text>`);
  }

  measureText(text) {
    this.measure.font = this.font;
    return this.measure.measureText(text);
  }

  beginPath() {
    this.path = "";
  }

  moveTo(x, y) {
    this.path += `M${round(x)} ${round(y)}`;
  }

  lineTo(x, y) {
    this.path += `L${round(x)} ${round(y)}`;
  }

  rect(x, y, width, height) {
    this.box = [x, y, width, height].map(round);
  }

  stroke() {
    this.parts.push(`<path d="${this.path}" fill="none" stroke="${escaped(this.strokeStyle)}" stroke-width="${this.lineWidth}"${this.opacity}/>`);
  }

  fill() {
    this.parts.push(`<path d="${this.path}" fill="${escaped(this.fillStyle)}"${this.opacity}/>`);
  }

  // To the last rect(): a picture in the picture is clipped.
  clip() {
    const [x, y, width, height] = this.box;
    this.parts.push(`<svg x="${x}" y="${y}" width="${width}" height="${height}" viewBox="${this.box.join(" ")}">`);
    this.clipped[this.clipped.length - 1]++;
  }

  save() {
    this.clipped.push(0);
  }

  restore() {
    this.parts.push("</svg>".repeat(this.clipped.pop()));
  }
}
