"use strict";
(() => {
	const $ = (selector, within = document) => within.querySelector(selector);
	const el = (name, props = {}, ...children) => {
		const e = Object.assign(document.createElement(name), props);
		e.append(...children);
		return e;
	};
	const svg = (name, attributes = {}, text) => {
		const e = document.createElementNS("http://www.w3.org/2000/svg", name);
		for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
		if (text !== undefined) e.textContent = text;
		return e;
	};
	const short = (n, digits) => String(Number(n.toFixed(digits))); // without zeros at the end
	const time = ms => ms < 1000 ? short(ms, ms < 10 ? 1 : 0) + " ms" : ms < 60000 ? short(ms / 1000, 2) + " s" : ms < 3600000
		? Math.floor(ms / 60000) + " min " + Math.floor(ms / 1000 % 60) + " s" : Math.floor(ms / 3600000) + " h " + Math.floor(ms / 60000 % 60) + " min";
	const plural = (n, thing) => n === 1 ? "1 " + thing : n + " " + thing + "s";
	const writes = new Set(["create", "update", "patch", "apply", "delete", "deletecollection"]);
	const kinds = {
		"": () => true, writes: r => writes.has(r.v), reads: r => r.v === "get" || r.v === "list", watches: r => r.v === "watch",
		refused: r => r.code >= 400, webhooks: r => r.wh,
	};
	const result = r => r.code === 0 ? "weak" : r.code >= 400 ? "bad" : r.same ? "same" : "good";
	const colors = ["#2f6fd0", "#d0672f", "#2a8a4a", "#8a3fb0", "#b0903f", "#3fa0b0", "#c23f7a", "#6b6b6b"];
	const page = 300;
	let data, clients, end;
	const sizes = { requests: page, objects: page }, open = { requests: new Set(), objects: new Set() }; // what the reader has chosen


	// failed shows the first failed assertion of the test.
	const failed = () => {
		if (!data.failure) return [];
		const head = el("p", { className: "bad", textContent: "The first failed assertion" }), text = el("pre", { textContent: data.failure.m });
		if (data.requests.some(r => r.n === data.failure.n)) head.append(", after request ", link(data.failure.n));
		return [head, text];
	};
	const read = next => {
		data = next;
		data.requests ??= []; data.objects ??= []; data.findings ??= []; data.events ??= [];
		const byObject = Map.groupBy(data.events, e => e.of);
		for (const o of data.objects) o.events = byObject.get(o.name) ?? [];
		for (const r of data.requests) r.text = [r.n, r.c, r.u, r.v, r.o, r.q, r.code, r.r, r.m, r.f, r.rev, ...(r.wh ?? []).map(w => w.Webhook + " " + w.Outcome + " " + w.Message)].join(" ").toLowerCase();
		for (const o of data.objects) o.text = (o.name + " " + [...o.revs.map(v => [v.rev, v.c, v.v, ...(v.d ?? [])]), ...o.events.map(e => [e.name, e.e, e.r, e.m, e.c])].map(t => t.join(" ")).join(" ")).toLowerCase();
		const before = clients;
		clients = [...new Set(data.requests.map(r => r.c))];
		end = [data.requests, data.events, ...data.objects.map(o => o.revs)].flat().reduce((last, x) => Math.max(last, x.t), 1);
		$("#title").textContent = data.title;
		$("#summary").textContent = [plural(data.requests.length, "request"), plural(data.objects.length, "object"), plural(data.events.length, "Event"), time(end)].join(", ");
		$("#failure").replaceChildren(...failed());
		$("#findings > pre").textContent = data.findings.join("\n") || "no findings";
		if (before && before.join("\n") === clients.join("\n")) return; // a list that is open stays open
		const chosen = $("#client").value;
		$("#client").replaceChildren(el("option", { value: "", textContent: "all clients" }), ...clients.map(c => el("option", { value: c, textContent: c })));
		$("#client").value = chosen;
	};
	const color = client => colors[Math.max(0, clients.indexOf(client)) % colors.length];
	const matches = r => (!$("#client").value || r.c === $("#client").value) && kinds[$("#kind").value](r) && words().every(w => r.text.includes(w));
	const words = () => $("#search").value.toLowerCase().split(/\s+/).filter(Boolean);

	const drawTimeline = requests => {
		const s = $("#timeline"), row = 22, left = 190, width = 1000, names = clients.filter(c => requests.some(r => r.c === c));
		s.setAttribute("viewBox", `0 0 ${left + width + 10} ${row * names.length + 18}`);
		s.replaceChildren();
		names.forEach((name, i) => {
			s.append(svg("text", { x: 0, y: i * row + 15 }, name.slice(0, 28)), svg("line", { x1: left, x2: left + width, y1: i * row + 11, y2: i * row + 11, stroke: "var(--line)" }));
		});
		const seen = new Set(), x = t => left + t / end * width;
		for (const r of requests) {
			const i = names.indexOf(r.c), at = Math.round(x(r.t) * 2), key = i + " " + at + result(r);
			if (r.v === "watch") s.append(svg("line", { x1: x(r.t), x2: Math.max(x(r.t) + 2, x(Math.min(end, r.t + r.ms))), y1: i * row + 17, y2: i * row + 17, stroke: color(r.c), "stroke-width": 2, opacity: .5 }));
			if (seen.has(key)) continue; // thousands of marks on one point are one
			seen.add(key);
			const mark = svg("circle", { cx: at / 2, cy: i * row + 11, r: r.code >= 400 ? 4 : 3, fill: `var(--${result(r)})` });
			mark.append(svg("title", {}, `#${r.n} ${r.v} ${r.o}: ${r.code}`));
			mark.onclick = () => { location.hash = "r" + r.n; };
			s.append(mark);
		}
		s.append(svg("text", { x: left, y: row * names.length + 14 }, "0"), svg("text", { x: left + width, y: row * names.length + 14, "text-anchor": "end" }, time(end)));
	};
	const link = n => el("a", { href: "#r" + n, textContent: "#" + n, className: "request", onclick: event => { event.stopPropagation(); if (location.hash === "#r" + n) show(n); } });
	const detail = r => {
		const list = el("dl"), add = (name, value) => value && list.append(el("dt", { textContent: name }), el("dd", {}, value));
		add("user", r.u); add("options", r.q); add("message", r.m); add("fault", r.f);
		add("cause", r.by && link(r.by)); add("events", r.ev && String(r.ev)); add("running", r.run && "it goes on");
		for (const w of r.wh ?? []) add("webhook", `${w.Webhook} (${w.Configuration}): ${w.Outcome}${w.Message ? ": " + w.Message : ""}, ${time(w.Latency / 1e6)}`);
		for (const o of data.objects) for (const v of o.revs) if (v.n === r.n) add("revision " + v.rev, o.name + ": " + (v.d ?? [v.e.toLowerCase()]).join("; "));
		return el("tr", { className: "detail" }, el("td", { colSpan: 8 }, list));
	};
	const row = r => {
		const answer = r.code === 0 ? (r.run ? "none yet" : "none: the connection broke") : `${r.code} ${r.r ?? ""}`.trim() + (r.m ? ": " + r.m : r.v === "watch" ? ", " + plural(r.ev ?? 0, "event") : r.same ? ", nothing changed" : "");
		const tr = el("tr", { id: "r" + r.n }, ...[link(r.n), time(r.t), time(r.ms)].map(t => el("td", { className: "number" }, t)),
			el("td", { textContent: r.c, style: "color:" + color(r.c) }), el("td", { textContent: r.v }), el("td", { textContent: r.o }),
			el("td", { className: result(r), textContent: answer }), el("td", { className: "number", textContent: r.rev ?? "" }));
		tr.onclick = () => {
			if (open.requests.delete(r.n)) tr.nextSibling.remove();
			else open.requests.add(r.n), tr.after(detail(r));
		};
		return open.requests.has(r.n) ? [tr, detail(r)] : [tr];
	};
	const fill = (section, all, count, make, into) => {
		into.append(...all.slice(into.dataset.shown | 0, count).flatMap(make));
		into.dataset.shown = Math.min(count, all.length);
		const filtered = words().length || $("#client").value || section.id === "requests" && $("#kind").value;
		$(".count", section).textContent = [filtered ? (all.length === 1 ? "1 matches" : `${all.length} match`) : "", data.left ? plural(data.left, "older revision") + " left out" : ""].filter(Boolean).join("; ");
		$(".more", section).hidden = count >= all.length;
	};
	const lane = o => {
		const marks = svg("svg", { viewBox: "0 0 1000 16", preserveAspectRatio: "none" });
		marks.append(svg("line", { x1: 0, x2: 1000, y1: 8, y2: 8, stroke: "var(--line)" }));
		for (const v of o.revs.slice(-400)) {
			const m = svg("rect", { x: v.t / end * 992, y: v.e === "MODIFIED" ? 4 : 1, width: 4, height: v.e === "MODIFIED" ? 8 : 14, fill: v.e === "DELETED" ? "var(--bad)" : color(v.c) });
			m.append(svg("title", {}, `revision ${v.rev}: ${v.c} ${v.v}`));
			marks.append(m);
		}
		for (const e of o.events.slice(-400)) {
			const m = svg("circle", { cx: e.t / end * 992 + 2, cy: 8, r: 3, class: "event", fill: e.e === "Warning" ? "var(--bad)" : "none", stroke: "currentColor" });
			m.append(svg("title", {}, `${e.e} ${e.r}: ${e.m}`));
			marks.append(m);
		}
		const count = o.revs.length + (o.events.length ? `, Events: ${o.events.length}` : "");
		const d = el("details", { className: "lane", open: open.objects.has(o.name) }, el("summary", {}, el("span", { textContent: `${o.name} (${count})` }), marks));
		d.dataset.name = o.name;
		const fillLane = () => {
			if (d.children.length > 1) return;
			const all = [...o.revs.slice(-200), ...o.events.slice(-200)].sort((a, b) => b.t - a.t);
			for (const v of all) {
				if (v.rev === undefined) {
					const head = el("div", {}, el("b", { className: v.e === "Warning" ? "bad" : "", textContent: `${v.e} ${v.r}` }), ` at ${time(v.t)} `, el("span", { textContent: v.c, style: "color:" + color(v.c) }), v.k > 1 ? ` ${v.k} times ` : " ");
					if (v.n) head.append(link(v.n));
					d.append(el("div", { className: "event-text" }, head, v.m));
					continue;
				}
				const head = el("div", {}, el("b", { textContent: "revision " + v.rev }), ` at ${time(v.t)} `, el("span", { textContent: v.c, style: "color:" + color(v.c) }), ` ${v.v} ${v.e.toLowerCase()} `);
				if (v.n) head.append(link(v.n));
				d.append(el("div", { className: "revision" }, head, el("ul", {}, ...(v.d ?? []).map(t => el("li", { textContent: t })))));
			}
		};
		if (d.open) fillLane();
		d.ontoggle = () => {
			if (d.open) open.objects.add(o.name), fillLane();
			else open.objects.delete(o.name);
		};
		return d;
	};
	// The first thing that the reader sees stays where it is, whatever comes above it.
	const holdingStill = change => {
		const key = e => e.id || e.dataset.name, top = $("header").getBoundingClientRect().bottom;
		const seen = scrollY > 0 && [...document.querySelectorAll("section.here tr[id], section.here .lane")].find(e => e.getBoundingClientRect().bottom > top);
		const was = seen && seen.getBoundingClientRect().top;
		change();
		const now = seen && [...document.querySelectorAll("section.here tr[id], section.here .lane")].find(e => key(e) === key(seen));
		if (now) scrollBy(0, now.getBoundingClientRect().top - was);
	};
	const draw = () => {
		const requests = data.requests.filter(matches).reverse();
		const client = $("#client").value;
		const objects = data.objects.filter(o => (!client || o.revs.some(v => v.c === client) || o.events.some(e => e.c === client)) && words().every(w => o.text.includes(w)));
		drawTimeline(requests);
		const body = $("#requests tbody"), all = $("#objects .lanes");
		body.replaceChildren(); all.replaceChildren();
		body.dataset.shown = all.dataset.shown = 0;
		fill($("#requests"), requests, sizes.requests, row, body);
		fill($("#objects"), objects, sizes.objects, lane, all);
		$("#requests .more").onclick = () => fill($("#requests"), requests, sizes.requests += page, row, body);
		$("#objects .more").onclick = () => fill($("#objects"), objects, sizes.objects += page, lane, all);
	};
	const choose = () => {
		sizes.requests = sizes.objects = page;
		draw();
	};
	// show shows a request, among all of them.
	const show = number => {
		const place = data.requests.findLastIndex(r => r.n === number);
		if (place < 0) return; // it has been forgotten
		$("#search").value = $("#client").value = $("#kind").value = "";
		sizes.requests = Math.max(page, data.requests.length - place + 20);
		open.requests.add(number);
		draw();
		document.getElementById("r" + number).scrollIntoView({ block: "center" });
	};
	const go = () => {
		const one = /^#r(\d+)$/.exec(location.hash), here = ["requests", "objects", "findings"].includes(location.hash.slice(1)) ? location.hash.slice(1) : one || !data.findings.length && !data.failure ? "requests" : "findings";
		for (const s of document.querySelectorAll("section")) s.classList.toggle("here", s.id === here);
		for (const a of document.querySelectorAll("nav a")) a.classList.toggle("here", a.hash === "#" + here);
		if (one) show(Number(one[1]));
	};
	read(JSON.parse($("#data").textContent));
	for (const id of ["search", "client", "kind"]) $("#" + id).oninput = choose;
	$("#controls").onsubmit = event => event.preventDefault();
	addEventListener("hashchange", go);
	draw();
	go();

	const source = document.body.dataset.source;
	if (source) {
		let asking = false, again = false;
		const update = async () => {
			if (asking) { again = true; return; }
			asking = true;
			try {
				const next = await (await fetch(source + "data.json")).json();
				holdingStill(() => { read(next); draw(); });
			} catch (error) {
				$("#summary").textContent = "the cluster does not answer: " + error;
			}
			asking = false;
			if (again) { again = false; update(); }
		};
		new EventSource(source + "changes").onmessage = update;
	}
	document.body.dataset.ready = "yes";
})();
