// SPDX-License-Identifier: MIT
// node pictures.mjs PAGES IMAGES: the pictures of docs/page.md; see scripts/pictures.
import { join } from "node:path";
import { settle, startBrowser } from "./page.mjs";

const [pages, images] = process.argv.slice(2);
const slowest = () => {
  const { slices, tracks } = luatracePage.chart;
  const lives = tracks.map((track) => track.running);
  lives[0] = 0;  // that of the scheduler
  return { track: lives.indexOf(Math.max(...lives)), slices: slices.size };
};

// [name, page, theme, what is done before]
const pictures = [
  ["graph", "json", "light", async (page) => {
    await page.mouse.move(330, 232);
  }],
  ["chart", "now", "dark", async (page) => {
    await page.keyboard.press("3");
    await page.keyboard.press("o");
    const { track } = await page.evaluate(slowest);
    await page.evaluate((id) => {
      const { chart } = luatracePage;
      luatracePage.showRange(chart.tracks[id].begin - chart.end / 4000, chart.end / 2000, true);
    }, track);
  }],
  ["coroutines", "few", "light", async (page) => {
    await page.keyboard.press("4");
    await page.mouse.move(700, 238);
  }],
  ["sandwich", "json", "dark", async (page) => {
    await page.evaluate(() => luatracePage.openFunction(luatracePage.functions.find((f) => f.name === "encode_value").id));
  }],
  ["diff", "diff", "light", async (page) => {
    await page.mouse.move(1080, 240);
  }],
];

const browser = await startBrowser();
for (const [name, file, colorScheme, act] of pictures) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 720 }, reducedMotion: "reduce", colorScheme });
  await page.goto(`file://${join(pages, `${file}.html`)}`);
  await page.waitForFunction(() => window.luatracePage?.readyAfter > 0);
  await act(page);
  await settle(page);
  await page.screenshot({ path: join(images, `page-${name}.png`) });
  await page.close();
}
await browser.close();
