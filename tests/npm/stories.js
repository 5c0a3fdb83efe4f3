// What somebody with a browser does, and what they should see. `visit` opens pages: browse.js.
"use strict";
const assert = require("node:assert/strict");
const axe = require("axe-core");

const texts = (page, what) => page.locator(what).allTextContents();

async function views(visit, each) {
	for (const shape of visit.shapes)
		for (const js of [true, false]) {
			const page = await visit.open({ shape, js, dark: !js });
			await each(page);
			await page.context().close();
		}
}

// Nothing is wider than the screen, be it a small phone's.
async function fits(page) {
	const screen = page.viewportSize();
	for (const size of [{ width: 320, height: 568 }, screen]) {
		await page.setViewportSize(size);
		const [have, need] = await page.evaluate(() => {
			const root = document.documentElement;
			return [root.clientWidth, root.scrollWidth];
		});
		assert.ok(need <= have, `${page.url()} is ${need} wide on ${have} (${page.named})`);
	}
}

// A table's heads stand above its cells: as many of them are shown in each row.
async function columns_agree(page) {
	const uneven = await page.$$eval("table", (tables) => tables.filter((t) => {
		const shown = (row) => [...row.cells].filter((c) => c.getClientRects().length).length;
		return new Set([...t.rows].map(shown)).size > 1;
	}).length);
	assert.equal(uneven, 0, `${page.url()}: rows of different length (${page.named})`);
}

async function search(page, words) {
	await page.locator("input[name=q]").fill(words);
	await page.locator("input[name=q]").press("Enter");
	await page.locator(".about").waitFor();
}

// 23 pages of one site and 4 texts of another have the word "harvest".
exports.searching = async (visit) => views(visit, async (page) => {
	await visit.go(page, "/");
	assert.match((await texts(page, ".about")).join(), /^28 documents$/);
	await page.locator("input[name=q]:focus").waitFor(); // focus comes after the page is there
	await fits(page);
	await visit.shot(page, "box");
	await search(page, "harvest");
	assert.match((await texts(page, ".about")).join(), /^27 results of 28 documents, [0-9.]+ ms$/);
	assert.equal(await page.locator("input[name=q]").inputValue(), "harvest");
	assert.ok((await texts(page, ".snippet mark")).every((w) => /^harvest$/i.test(w)));
	await fits(page);
	await visit.shot(page, "results");

	const seen = new Set();
	for (let n = 1; n <= 3; n++) {
		const urls = await texts(page, ".results .where");
		assert.equal(urls.length, n < 3 ? 10 : 7);
		urls.forEach((u) => seen.add(u));
		if (n < 3)
			await page.locator("a[rel=next]").click();
		await page.waitForURL((u) => n === 3 || u.searchParams.get("page") === String(n + 1));
	}
	assert.equal(seen.size, 27);
	assert.equal(await page.locator("a[rel=next]").count(), 0);
	await page.locator("a[rel=prev]").click();
	await page.waitForURL((u) => u.searchParams.get("page") === "2");

	await search(page, "harvest oats");
	for (const title of await texts(page, ".results h2")) // without a title: the end of the path
		assert.match(title, /^(long-folder-name\/)+[1-4]\.txt$/);
	await page.getByText("more from this site").first().click();
	await page.waitForURL((u) => u.searchParams.get("site") === "texts.example");
	assert.deepEqual(new Set((await texts(page, ".results .where")).map((u) => new URL(u).host)),
		new Set(["texts.example"]));
	await visit.shot(page, "site");
	await search(page, "harvest"); // the filter stays
	assert.match((await texts(page, ".about")).join(), /^4 results/);
	await page.locator(".chips a").click();
	await page.waitForURL((u) => !u.searchParams.get("site"));
	assert.match((await texts(page, ".about")).join(), /^27 results/);

	await page.locator("select[name=type]").selectOption("HTML");
	await page.getByRole("button", { name: "Search" }).click();
	await page.waitForURL((u) => u.searchParams.get("type") === "HTML");
	assert.match((await texts(page, ".about")).join(), /^23 results/);
	assert.ok((await texts(page, ".more")).every((t) => t.startsWith("HTML")));

	await page.getByText("cached text").first().click();
	await page.locator("h1").waitFor();
	assert.match((await texts(page, ".text")).join(), /harvest/i);
	await fits(page);
	await visit.shot(page, "cached");

	await visit.go(page, "/?q=nowheretobefound");
	assert.match((await texts(page, ".note")).join(), /Nothing was found/);
	await visit.shot(page, "nothing");
	await visit.go(page, "/?q=%28open");
	assert.equal(await page.locator(".note.bad").count(), 1);
	assert.equal((await visit.go(page, "/cached?url=http://nobody.example/")).status(), 404);
});

// Elements that results and cached copies are made of; anything else came out of a document.
const plain = new Set(["A", "BR", "DIV", "H1", "H2", "LI", "MARK", "MAIN", "NAV", "OL", "P", "SPAN", "UL"]);

async function is_harmless(page, name) {
	await page.waitForTimeout(100); // for what would run now
	const [odd, links, ran] = await page.evaluate(() => [
		[...document.querySelectorAll("main, main *")].map((e) => e.tagName),
		[...document.querySelectorAll("a, form")].map((e) => e.href || e.action),
		[window.ran, document.documentElement.dataset.ran],
	]);
	assert.deepEqual(odd.filter((tag) => !plain.has(tag)), [], `elements in ${name}`);
	for (const to of links)
		assert.match(to, /^(https?:|ftp:|about:invalid)/, `a link in ${name}`);
	assert.deepEqual(ran.filter(Boolean), [], `something ran in ${name}`);
	await fits(page);
}

// Every document of this index has markup, scripts and addresses that run where they fit.
exports.hostile = async (visit) => {
	for (const shape of visit.shapes) {
		const page = await visit.open({ shape });
		await visit.go(page, "/?q=harmless");
		const rows = await page.locator(".results > li").count();
		assert.ok(rows >= 5, `${rows} rows`);
		assert.match((await texts(page, ".results h2")).join(), /<script>/);
		assert.match((await texts(page, ".snippet")).join(), /<img src=x onerror=/);
		await is_harmless(page, "results");
		await visit.shot(page, "results");
		const copies = await page.getByText("cached text").evaluateAll((all) => all.map((a) => a.href));
		for (const copy of copies) {
			const answer = await page.goto(copy);
			assert.equal(answer.status(), 200, copy);
			assert.match(answer.headers()["content-security-policy"], /^sandbox; default-src 'none'/);
			await is_harmless(page, copy);
		}
		await visit.shot(page, "cached");
		const evil = encodeURIComponent(`"'><script>window.ran=1</script><img src=x onerror="window.ran=2">`);
		for (const where of [`/?q=${evil}`, `/?q=harmless&site=${evil}`, `/?q=harmless&type=${evil}`,
			`/?q=harmless&page=${evil}`, `/cached?url=${evil}`, `/${evil}`]) {
			await visit.go(page, where);
			assert.equal(await page.locator("script, img").count(), 0, where);
			await is_harmless(page, where);
		}
		await page.context().close();
	}
};

async function has_no_barriers(visit, page, where) {
	await visit.go(page, where);
	await page.evaluate(axe.source);
	const { violations, passes } = await page.evaluate(() => window.axe.run());
	const found = violations.map((v) =>
		`${v.impact}: ${v.help}: ${v.nodes.map((n) => n.html).slice(0, 3).join(" ")}`);
	assert.ok(passes.length > 5, where);
	assert.deepEqual(found, [], `${where} ${page.named}`);
}

exports.accessible = async (visit) => {
	const main = ["/?q=harvest", "/status"];
	const others = ["/", "/?q=harvest&page=2", "/?q=harvest&site=texts.example&type=Text",
		"/?q=nowheretobefound", "/?q=%28open", "/cached?url=http%3A%2F%2Fpages.example%2F1.html",
		"/cached?url=http%3A%2F%2Fnobody.example%2F"];
	for (const shape of visit.shapes)
		for (const dark of [false, true]) {
			const page = await visit.open({ shape, dark, bypassCSP: true });
			for (const where of dark === (shape === "phone") ? [...main, ...others] : main)
				await has_no_barriers(visit, page, where);
			await page.context().close();
		}
};

// A crawl is under way.
exports.status = async (visit) => {
	const plainly = await visit.open({ shape: "phone", js: false, dark: true });
	await visit.go(plainly, "/status");
	assert.match((await texts(plainly, "main")).join(), /all ready\./);
	assert.match((await texts(plainly, "#still")).join(), /updates itself/);
	assert.equal(await plainly.getByText("pages per second since the start").count(), 1);
	assert.equal(await plainly.locator("#plot").isVisible(), false);
	await fits(plainly);
	await visit.shot(plainly, "plain");

	const page = await visit.open({ dark: false });
	await visit.go(page, "/status");
	const pages = () => page.locator("#n-pages").textContent();
	const before = await pages();
	await page.waitForFunction((old) => document.getElementById("n-pages").textContent !== old, before);
	await page.waitForFunction(() =>
		document.querySelector(".plot polyline").points.length >= 3);
	await page.waitForFunction(() =>
		/pages per second/.test(document.querySelector("#plot figcaption").textContent));
	assert.equal(await page.locator("#still").isVisible(), false);
	assert.equal(await page.getByText("since the start").count(), 0);
	await page.waitForTimeout(process.env.SHOTS ? 8000 : 0);
	// It rises: some point is above the ground line.
	assert.ok(await page.evaluate(() => {
		const y = [...document.querySelector(".plot polyline").points].map((p) => p.y);
		return Math.min(...y) < Math.max(...y) || Math.min(...y) < 20;
	}));
	await fits(page);
	await visit.shot(page, "live");
	await columns_agree(page);
	await page.setViewportSize({ width: 390, height: 844 });
	await fits(page);
	await columns_agree(page);
	await visit.shot(page, "narrow");
};

// An archive with two files "zebrawood", one of which is a folder down, and names that attack.
exports.files = async (visit) => {
	for (const shape of visit.shapes) {
		const js = shape === "desktop";
		const page = await visit.open({ shape, js, dark: !js });
		await visit.go(page, "/");
		await page.locator("footer a", { hasText: "Files" }).click();
		await page.locator("h1").waitFor();
		await page.locator("input[name=q]:focus").waitFor(); // focus comes after the page is there
		await fits(page);
		await visit.shot(page, "form");
		await page.locator("input[name=q]").fill("zebrawood");
		await page.locator("select[name=sortby]").selectOption("size");
		await page.locator("input[name=q]").press("Enter");
		await page.locator(".about").waitFor();
		assert.match((await texts(page, ".about")).join(), /^2 files, [0-9.]+ ms$/);
		assert.deepEqual(await texts(page, ".results h2"), ["zebrawood-1.5.tar.gz", "zebrawood-1.4.tar.gz"]);
		assert.match((await texts(page, ".more"))[0], /^File · 3\.2 MB · 1997-03-01 · listed \d+ years ago/);
		assert.match(await page.locator(".results h2 a").first().getAttribute("href"), /^ftp:/);
		await fits(page);
		await visit.shot(page, "results");
		await page.getByText("More limits").click();
		await page.locator("input[name=maxhits]").fill("1");
		await fits(page);
		await visit.shot(page, "limits");
		await page.getByRole("button", { name: "Search" }).click();
		await page.locator("a[rel=next]").click();
		await page.waitForURL((u) => u.searchParams.get("offset") === "1");
		assert.deepEqual(await texts(page, ".results h2"), ["zebrawood-1.4.tar.gz"]);
		assert.equal(await page.locator("input[name=maxhits]").inputValue(), "1");
		await page.getByText("only this site").click();
		await page.waitForURL((u) => u.searchParams.get("match_site") === "ftp.example.test");
		await visit.go(page, "/files?q=nowheretobefound");
		assert.match((await texts(page, ".note")).join(), /Nothing was found/);
		await visit.shot(page, "nothing");
		assert.equal((await visit.go(page, "/files?search=regex&q=%5B")).status(), 400);
		assert.equal(await page.locator(".note.bad").count(), 1);
		await visit.shot(page, "error");
		await visit.go(page, "/files?q=window.ran");
		assert.equal(await page.locator(".results h2").count(), 2);
		assert.equal(await page.evaluate(() => window.ran), undefined);
		await fits(page);
		await page.context().close();
	}
	const page = await visit.open({ dark: true, bypassCSP: true });
	await has_no_barriers(visit, page, "/files?q=zebrawood&maxhits=1&kind=file");
};

// Without JavaScript; searches wait until somebody asks for a page that is not there.
exports.queue = async (visit) => {
	const page = await visit.open({ shape: "phone", js: false, dark: true });
	await visit.go(page, "/files?q=zebrawood");
	assert.match((await texts(page, "[role=status]")).join(), /its place is \d+, and it may take \d+ second/);
	await fits(page);
	await visit.shot(page, "waiting");
	const other = await visit.open();
	await visit.go(other, "/nothing");
	await page.locator(".results h2").first().waitFor();
	assert.equal(await page.locator("[role=status]").count(), 0);
	await visit.shot(page, "answered");
};
