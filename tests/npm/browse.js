// Chromium on the pages of a garner, for tests/scenes/test_browser.py:
//
//     CHROMIUM=program [SHOTS=folder] node browse.js STORY http://127.0.0.1:PORT
//
// Prints what is wrong and exits 1. Whatever Chromium sends goes to the garner or into a trap; what
// pages send there makes the story fail.
"use strict";
const net = require("node:net");
const path = require("node:path");
const { chromium } = require("playwright-core");
const stories = require("./stories.js");

const [story, origin] = process.argv.slice(2);
const limit_ms = 15000;
const shapes = {
	phone: { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true },
	desktop: { viewport: { width: 1280, height: 800 } },
};
const quiet = [
	"--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
	"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
];
// Whom Chromium asks for the time and for updates, whatever it is told. No page names them.
const own = /^([a-z]+:\/\/)?[a-z0-9.-]+\.(google|googleapis|gvt1)\.com[:\/]/;

// A proxy that answers nothing and remembers who came.
function trap(caught) {
	const server = net.createServer((s) => {
		s.on("error", () => {});
		s.on("data", (said) => {
			const line = said.toString("latin1").split("\r\n")[0];
			if (!own.test(line.split(" ")[1]))
				caught.push(`sent elsewhere: ${line}`);
			s.destroy();
		});
	});
	return new Promise((ready) => server.listen(0, "127.0.0.1", () => ready(server)));
}

// Pages to look at, each in a profile of its own, with everything noted that no page of ours does.
class Visit {
	constructor(browser, wrong) {
		this.browser = browser;
		this.wrong = wrong;
		this.origin = origin;
		this.shapes = Object.keys(shapes);
	}

	async open({ shape = "desktop", js = true, dark = false, bypassCSP = false } = {}) {
		const context = await this.browser.newContext({
			...shapes[shape], javaScriptEnabled: js, colorScheme: dark ? "dark" : "light", bypassCSP,
		});
		const page = await context.newPage();
		page.setDefaultTimeout(limit_ms);
		page.on("request", (r) => {
			if (new URL(r.url()).origin !== origin)
				this.wrong.push(`asked for ${r.url()}`);
		});
		page.on("dialog", (d) => {
			this.wrong.push(`a dialog: ${d.message()}`);
			d.dismiss();
		});
		page.on("pageerror", (e) => this.wrong.push(`an error in the page: ${e.message}`));
		page.on("console", (m) => {
			if (m.type() === "error" && !/status of 40[04]/.test(m.text()))
				this.wrong.push(`on the console: ${m.text()}`);
		});
		page.named = [shape, js ? "js" : "plain", dark ? "dark" : "light"].join("-");
		return page;
	}

	async go(page, where) {
		return page.goto(origin + where, { waitUntil: "load" });
	}

	// With SHOTS, for eyes.
	async shot(page, name) {
		if (process.env.SHOTS)
			await page.screenshot({
				path: path.join(process.env.SHOTS, `${story}-${name}-${page.named}.png`),
			});
	}
}

async function main() {
	const wrong = [];
	const proxy = await trap(wrong);
	const browser = await chromium.launch({
		executablePath: process.env.CHROMIUM,
		chromiumSandbox: false,
		timeout: 60000,
		args: [
			...quiet,
			`--proxy-server=http://127.0.0.1:${proxy.address().port}`,
			`--proxy-bypass-list=<-loopback>;${new URL(origin).host}`,
		],
	});
	try {
		await stories[story](new Visit(browser, wrong));
	} catch (e) {
		wrong.push(e.stack);
	} finally {
		await browser.close();
		proxy.close();
	}
	for (const line of new Set(wrong))
		console.log(line);
	return wrong.length ? 1 : 0;
}

main().then((code) => process.exit(code), (e) => {
	console.log(e.message);
	process.exit(1);
});
