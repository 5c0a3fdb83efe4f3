#!/usr/bin/env node
// Makes src/extract/charset_index.c and charset_index_zh.c, the indexes of the Encoding Standard, out
// of the decoders of a package that implements it (@exodus/bytes, named in tests/npm/package.json):
//
//     npm ci --prefix tests/npm && node script/charset_index.mjs
//
// Each decoder is asked what every pointer of its index stands for. tests/prove/charset.py compares
// what garner then decodes with Chromium.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";

const root = new URL("../", import.meta.url);
const { TextDecoder } = await import(new URL("tests/npm/node_modules/@exodus/bytes/encoding.js", root));

// The code of charset_index_unpack(): how many first letters each kind of code has.
const RUNS = 12, STEPS = 32, JUMPS = 31, GAPS = 1, FARS = 16;
const alphabet = [...Array(95).keys()].map((i) => String.fromCharCode(32 + i)).filter((c) => !'"\\?'.includes(c));
const BASE = alphabet.length;
const FAR = (FARS / 2) * BASE * BASE; // values for each of the planes 0 and 2

const singles = [
	"ibm866", "iso-8859-2", "iso-8859-3", "iso-8859-4", "iso-8859-5", "iso-8859-6", "iso-8859-7",
	"iso-8859-8", "iso-8859-10", "iso-8859-13", "iso-8859-14", "iso-8859-15", "iso-8859-16", "koi8-r",
	"koi8-u", "macintosh", "windows-874", "windows-1250", "windows-1251", "windows-1252", "windows-1253",
	"windows-1254", "windows-1255", "windows-1256", "windows-1257", "windows-1258", "x-mac-cyrillic",
	"x-user-defined",
];

// What the bytes of each pointer stand for; 0: nothing.
function points(label, count, bytes_of) {
	const decoder = new TextDecoder(label);
	return [...Array(count).keys()].map((pointer) => {
		const bytes = bytes_of(pointer);
		const text = bytes ? [...decoder.decode(new Uint8Array(bytes))] : [];
		return text.length === 1 && text[0] !== "\ufffd" ? text[0].codePointAt(0) : 0;
	});
}

function pairs(width, lead, trail) {
	return (pointer) => [lead(Math.floor(pointer / width)), trail(pointer % width)];
}

const after_delete = (offset) => (n) => n + (n < 0x3f ? 0x40 : offset);
const from = (first) => (n) => n + first;

function indexes_zh() {
	return {
		BIG5: points("big5", 126 * 157, pairs(157, from(0x81), after_delete(0x62))),
		GB18030: points("gb18030", 126 * 190, pairs(190, from(0x81), after_delete(0x41))),
	};
}

function indexes() {
	const shift_jis = pairs(188, (n) => n + (n < 0x1f ? 0x81 : 0xc1), after_delete(0x41));
	const own = (p) => p >= 8836 && p <= 10715; // private use, not in the index
	const made = {
		JIS0208: points("shift_jis", 60 * 188, (p) => (own(p) ? null : shift_jis(p))),
		JIS0212: points("euc-jp", 94 * 94, (p) => [0x8f, 0xa1 + Math.floor(p / 94), 0xa1 + (p % 94)]),
		EUC_KR: points("euc-kr", 126 * 190, pairs(190, from(0x81), from(0x41))),
	};
	for (const label of singles)
		made[label.toUpperCase().replaceAll("-", "_")] = points(label, 128, (p) => [0x80 + p]);
	return made;
}

function pack(all) {
	const list = all.slice(0, all.findLastIndex((point) => point) + 1);
	const letters = (first, value, more) => {
		let text = "";
		for (; more > 0; more--, value = Math.floor(value / BASE))
			text = alphabet[value % BASE] + text;
		return alphabet[first + value] + text;
	};
	const same = (at, fits) => {
		let n = 0;
		while (at + n < list.length && fits(list[at + n], n))
			n++;
		return n;
	};
	let text = "", before = 0;
	for (let at = 0, n; at < list.length; at += n) {
		const step = list[at] - before;
		if ((n = Math.min(BASE, same(at, (point) => point === 0)))) {
			text += letters(RUNS + STEPS + JUMPS, n - 1, 1);
			continue;
		}
		if ((n = Math.min(RUNS, same(at, (point, i) => point === before + 1 + i)))) {
			text += letters(0, n - 1, 0);
			before += n;
			continue;
		}
		n = 1;
		before = list[at];
		if (step >= 2 && step < 2 + STEPS)
			text += letters(RUNS, step - 2, 0);
		else if (step >= (-JUMPS * BASE) / 2 && step < (JUMPS * BASE) / 2)
			text += letters(RUNS + STEPS, step + (JUMPS * BASE) / 2, 1);
		else
			text += letters(RUNS + STEPS + JUMPS + GAPS,
					before < 0x10000 ? before : before - 0x20000 + FAR, 2);
	}
	return text;
}

// Where the four bytes of gb18030 begin to stand for other points than those that follow.
function ranges() {
	const four = (p) => [0x81 + Math.floor(p / 12600), 0x30 + (Math.floor(p / 1260) % 10),
			     0x81 + (Math.floor(p / 10) % 126), 0x30 + (p % 10)];
	const plane = points("gb18030", 39420, four).map((point) => point || 0xfffd);
	plane[7457] = plane[7456] + 1; // U+E7C7, an exception
	return [...plane.entries(), [189000, 0x10000]].filter(([p, point]) => point !== plane[p - 1] + 1);
}

// Katakana of half width as iso-2022-jp writes them.
function katakana() {
	const marks = { 0xff9e: 0x309b, 0xff9f: 0x309c };
	return [...Array(63).keys()].map((n) => {
		const half = 0xff61 + n;
		return marks[half] ?? String.fromCharCode(half).normalize("NFKC").codePointAt(0);
	});
}

const name_of = (index) => `packed_${index.toLowerCase()}`;

function literals(text) {
	return text.match(/.{1,90}/g).map((line) => `\t"${line}"`).join("\n");
}

function data(list, scope) {
	return Object.entries(list).map(([index, all]) =>
		`${scope}const char ${name_of(index)}[] =\n${literals(pack(all))};\n`).join("\n");
}

function write(name, comment, source) {
	const head = `/* ${comment} Made by script/charset_index.mjs; not to be\n * edited. */\n`;
	const made = spawnSync("clang-format", [`--assume-filename=${name}`], { input: head + source, encoding: "utf8" });
	if (made.status !== 0)
		throw new Error(made.stderr);
	writeFileSync(new URL(name, root), made.stdout);
}

const chinese = indexes_zh(), others = indexes();
const counts = Object.entries({ ...chinese, ...others }).map(([index, all]) =>
	`[INDEX_${index}] = {${name_of(index)}, ${all.length}},`);
const numbers = (type, name, list) => `const ${type} ${name} = {${list.join(", ")}};\n`;

write("src/extract/charset_index_zh.c", "The indexes of Chinese, as charset_index.c has the others.",
	`#include "extract/charset_index_inner.h"\n\n${data(chinese, "")}`);
write("src/extract/charset_index.c", "The indexes of the Encoding Standard, packed.",
	`#include "extract/charset_index_inner.h"\n\n${data(others, "static ")}
const struct charset_index charset_indexes[CHARSET_INDEXES] = {${counts.join("\n")}};

const struct charset_range charset_ranges[CHARSET_RANGES] = {
${ranges().map(([pointer, point]) => `{${pointer}, ${point}}`).join(", ")}};

${numbers("uint16_t", "charset_katakana[CHARSET_KATAKANA]", katakana())}`);
