// Charsets as Chromium has them, for tests/prove/charset.py:
//
//     CHROMIUM=program node charsets.js FOLDER
//
// Of each NAME.bytes in the folder it makes NAME.text (TextDecoder), of NAME.links NAME.queries (what a
// page in that charset sends), of pages.json, which has documents and their headers in base64,
// pages.out.json: the charset of each, and where its links lead. labels.json becomes labels.out.json:
// the names that labels stand for. Nothing is sent: what is asked for is answered here.
"use strict";
const fs = require("node:fs");
const path = require("node:path");
const { chromium } = require("playwright-core");

const folder = process.argv[2];
const quiet = ["--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update",
	"--disable-sync", "--disable-dev-shm-usage", "--proxy-server=http://127.0.0.1:9"];
const file = (name) => path.join(folder, name);
const names = (end) => fs.readdirSync(folder).filter((f) => f.endsWith(end)).map((f) => f.slice(0, -end.length));
const answers = new Map();

async function visit(page, name, headers, body) {
	const url = `http://h.example/${encodeURIComponent(name)}`;
	answers.set(url, { headers, body });
	await page.goto(url, { waitUntil: "load" });
	return page.evaluate(() => document.characterSet.toLowerCase());
}

async function decode(page, name) {
	const text = await page.evaluate(([label, bytes]) => {
		const decoder = new TextDecoder(label, { ignoreBOM: true });
		return decoder.decode(Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0)));
	}, [name, fs.readFileSync(file(`${name}.bytes`)).toString("base64")]);
	fs.writeFileSync(file(`${name}.text`), text);
}

async function encode(page, name) {
	const found = await visit(page, name, { "Content-Type": `text/html; charset=${name}` }, Buffer.from("<p>"));
	if (found !== name)
		throw new Error(`a page in ${name} is said to be in ${found}`);
	const links = fs.readFileSync(file(`${name}.links`), "utf8").split("\n").filter((link) => link);
	const queries = await page.evaluate((all) => {
		const a = document.createElement("a");
		return all.map((link) => {
			a.href = link;
			return a.search.slice(1);
		});
	}, links);
	fs.writeFileSync(file(`${name}.queries`), queries.map((query) => query + "\n").join(""));
}

async function main() {
	const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, chromiumSandbox: false,
		timeout: 60000, args: quiet });
	try {
		const page = await browser.newPage({ javaScriptEnabled: true });
		await page.route("**/*", (route) => {
			const answer = answers.get(route.request().url());
			return answer ? route.fulfill(answer) : route.abort();
		});
		console.log(`Chromium ${browser.version()}`);
		await visit(page, "empty", { "Content-Type": "text/html; charset=utf-8" }, Buffer.from(""));
		for (const name of names(".bytes"))
			await decode(page, name);
		for (const name of names(".links"))
			await encode(page, name);
		const labels = JSON.parse(fs.readFileSync(file("labels.json"), "utf8"));
		fs.writeFileSync(file("labels.out.json"), JSON.stringify(await page.evaluate((all) => all.map((label) => {
			try {
				return new TextDecoder(label).encoding;
			} catch {
				return null;
			}
		}), labels)));
		const out = [];
		for (const [i, { type, body }] of JSON.parse(fs.readFileSync(file("pages.json"), "utf8")).entries()) {
			const charset = await visit(page, `page${i}`, { "Content-Type": type }, Buffer.from(body, "base64"));
			const links = await page.evaluate(() => [...document.links].map((a) => a.href.split("#")[0]));
			out.push({ charset, links });
		}
		fs.writeFileSync(file("pages.out.json"), JSON.stringify(out));
	} finally {
		await browser.close();
	}
}

main().catch((e) => {
	console.log(e.stack);
	process.exit(1);
});
