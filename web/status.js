// The status page while it is open: numbers as they change, and one plot of pages per second.
"use strict";
(() => {
	const kept = 120, least = 30, recent = 10, rates = []; // a rate for each second
	const byId = (id) => document.getElementById(id);
	const plot = byId("plot"), still = byId("still"), causes = byId("causes"), codes = byId("codes");
	const [area, line] = plot.querySelectorAll("polygon, polyline");
	const caption = plot.querySelector("figcaption");
	let last = null;

	function show(id, text) {
		const place = byId("n-" + id);
		if (place && place.textContent !== text)
			place.textContent = text;
	}

	// The page comes with the average since the start; what is shown here is that of now.
	function show_rate() {
		const some = rates.slice(-recent);
		show("rate", (some.reduce((a, b) => a + b) / some.length).toFixed(1));
		byId("n-rate").previousElementSibling.textContent = "pages per second";
	}

	function draw() {
		const span = Math.max(least, rates.length), top = Math.max(1, ...rates);
		const x = (i) => (i + span - rates.length) / (span - 1) * 100;
		const points = rates.map((r, i) => `${x(i)},${38 - r / top * 34}`).join(" ");
		line.setAttribute("points", points);
		area.setAttribute("points", `${x(0)},40 ${points} 100,40`);
		caption.textContent = `pages per second in the last ${span} seconds, at most ${top.toFixed(1)}`;
		plot.hidden = false;
		still.hidden = true;
	}

	function follow(now) {
		if (last && now.at_us > last.at_us)
			rates.push(Math.max(0, (now.pages - last.pages) * 1e6 / (now.at_us - last.at_us)));
		if (rates.length > kept)
			rates.shift();
		last = now;
		if (rates.length === 0)
			return;
		show_rate();
		draw();
	}

	// A row is an array of texts, and a number at its end.
	function list(section, rows, style) {
		section.hidden = rows.length === 0;
		section.querySelector("tbody").replaceChildren(...rows.map((cells) => {
			const row = document.createElement("tr");
			for (const text of cells)
				row.insertCell().textContent = text;
			row.lastChild.className = "n";
			row.className = style(cells);
			return row;
		}));
	}

	const events = new EventSource("/api/events");
	events.addEventListener("numbers", (event) => {
		const now = JSON.parse(event.data);
		for (const [name, text] of Object.entries(now.shown))
			if (name !== "rate")
				show(name, text);
		list(causes, now.causes, () => "");
		list(codes, now.codes, ([, words]) => words ? "code" : "class");
		follow(now);
	});
	// Roles that come and go change the whole page.
	let roles = null;
	events.addEventListener("status", (event) => {
		if (roles !== null && roles !== event.data)
			location.reload();
		roles = event.data;
	});
})();
