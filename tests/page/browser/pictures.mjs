// SPDX-License-Identifier: MIT
// node pictures.mjs PAGES IMAGES: the pictures of docs/page.md, and of docs/openresty.md if its page is
// there; see scripts/pictures.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { settle, startBrowser } from "./page.mjs";

const [pages, images] = process.argv.slice(2);
// [name, page, theme, actions before the picture]
const pictures = [
  ["graph", "json", "light", async (page) => {
    await page.mouse.move(330, 232);
  }],
  ["chart", "json", "dark", async (page) => {
    await page.keyboard.press("3");
    await page.keyboard.press("t");
    await page.evaluate(() => luatracePage.showRange(luatracePage.chart.end * 0.1, luatracePage.chart.end / 9, true));
  }],
  ["coroutines", "few", "light", async (page) => {
    await page.keyboard.press("4");
    await page.mouse.move(700, 238);
  }],
  ["sandwich", "json", "dark", async (page) => {
    await page.evaluate(() => luatracePage.openFunction(luatracePage.functions.find((f) => f.name === "encode_value").id));
  }],
  ["diff", "diff", "light", async (page) => {
    await page.mouse.move(120, 252);
  }],
  ["nginx", "nginx", "light", async () => {}],
  ["requests", "nginx", "light", async (page) => {
    await page.keyboard.press("6");
    await page.evaluate(() => {
      const { requests } = luatracePage;
      requests.choose(requests.data.list.reduce((a, b) => (b.others > a.others && b.last > b.first ? b : a)).index);
    });
  }],
];

const browser = await startBrowser();
for (const [name, file, colorScheme, act] of pictures) {
  if (file === "nginx" && !existsSync(join(pages, "nginx.html"))) continue;
  const page = await browser.newPage({ viewport: { width: 1280, height: 720 }, reducedMotion: "reduce", colorScheme });
  await page.goto(`file://${join(pages, `${file}.html`)}`);
  await page.waitForFunction(() => window.luatracePage?.readyAfter > 0);
  await act(page);
  await settle(page);
  await page.screenshot({ path: join(images, `page-${name}.png`) });
  await page.close();
}
await browser.close();
