// The status page while it is open: numbers as they change, and one plot of pages per second.
"use strict";
(() => {
	const kept = 120, rates = [];
	const line = document.querySelector(".plot polyline");
	const scale = document.getElementById("plot-scale");
	let last = null;

	function draw() {
		const top = Math.max(1, ...rates);
		const points = rates.map((r, i) => `${(i + kept - rates.length) / (kept - 1) * 100},${38 - r / top * 36}`);
		line.setAttribute("points", points.join(" "));
		scale.textContent = `pages per second, the last two minutes; highest ${top.toFixed(top < 10 ? 1 : 0)}`;
	}

	const events = new EventSource("/api/events");
	events.addEventListener("numbers", (event) => {
		const now = JSON.parse(event.data);
		for (const [name, text] of Object.entries(now.shown)) {
			const place = document.getElementById("n-" + name);
			if (place && place.textContent !== text)
				place.textContent = text;
		}
		if (last && now.at_us > last.at_us)
			rates.push(Math.max(0, (now.pages - last.pages) * 1e6 / (now.at_us - last.at_us)));
		if (rates.length > kept)
			rates.shift();
		last = now;
		draw();
	});
	// Roles that come and go change the whole page.
	let roles = null;
	events.addEventListener("status", (event) => {
		if (roles !== null && roles !== event.data)
			location.reload();
		roles = event.data;
	});
})();
