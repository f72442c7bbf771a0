// SPDX-License-Identifier: MIT
// As much of CanvasRenderingContext2D as paint.js and ruler.js use, which makes an SVG picture instead.
//
// Invariant: text enters the picture escaped, whatever it is.
const escapes = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
const escaped = (text) => String(text).replace(/[&<>"']/g, (c) => escapes[c]).replace(/[^\t\n\r\x20-\ud7ff\ue000-\ufffd]|[\ufffe\uffff]/g, "\ufffd");
const round = (number) => Math.round(number * 100) / 100;

export class SvgContext {
  constructor() {
    Object.assign(this, { fillStyle: "#000", strokeStyle: "#000", lineWidth: 1, globalAlpha: 1, font: "12px sans-serif", textBaseline: "middle" });
    this.measure = document.createElement("canvas").getContext("2d");
    this.parts = [];
    this.path = "";
    this.clips = 0;
    this.groups = [0];  // open groups since each save()
  }

  text(width, height, background) {
    const head = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`;
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
    this.path += `M${round(x)} ${round(y)}h${round(width)}v${round(height)}h${round(-width)}z`;
  }

  stroke() {
    this.parts.push(`<path d="${this.path}" fill="none" stroke="${escaped(this.strokeStyle)}" stroke-width="${this.lineWidth}"${this.opacity}/>`);
  }

  fill() {
    this.parts.push(`<path d="${this.path}" fill="${escaped(this.fillStyle)}"${this.opacity}/>`);
  }

  clip() {
    const id = `clip${this.clips++}`;
    this.parts.push(`<clipPath id="${id}"><path d="${this.path}"/></clipPath><g clip-path="url(#${id})">`);
    this.groups[this.groups.length - 1]++;
  }

  save() {
    this.groups.push(0);
  }

  restore() {
    this.parts.push("</g>".repeat(this.groups.pop()));
  }
}
