// The state of the view is its address: #/suite/app/case/platform?filter=..&rel=..&run=last
// What is not there has its default, so the empty address is the first suite's grid.
import { signal } from "@preact/signals";

export interface Route {
	suite: string; app: string; case: string; platform: string;
	filter: string; rel: string; run: string;
}

const EMPTY: Route = { suite: "", app: "", case: "", platform: "", filter: "", rel: "", run: "" };
const QUERY = ["filter", "rel", "run"] as const;

function decode(text: string): string {
	try {
		return decodeURIComponent(text);
	} catch {
		return text;
	}
}

export function parse(hash: string): Route {
	const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2) as [string, string?];
	const parts = path.split("/").map(decode);
	const params = new URLSearchParams(query);
	const route = { ...EMPTY, suite: parts[0] ?? "", app: parts[1] ?? "", case: parts[2] ?? "", platform: parts[3] ?? "" };
	for (const key of QUERY)
		route[key] = params.get(key) ?? "";
	return route;
}

export function href(change: Partial<Route>): string {
	const r = { ...route.value, ...change };
	const path = [r.suite, r.app, r.case, r.platform].map(encodeURIComponent);
	while (path.length && !path[path.length - 1])
		path.pop();
	const params = new URLSearchParams();
	for (const key of QUERY)
		if (r[key])
			params.set(key, r[key]);
	const query = params.toString();
	return `#/${path.join("/")}${query ? `?${query}` : ""}`;
}

export const route = signal<Route>(parse(location.hash));

addEventListener("hashchange", () => {
	route.value = parse(location.hash);
});

// A step that the back button takes back.
export function go(change: Partial<Route>): void {
	location.hash = href(change);
}

// A detail of the same view (a letter in the filter): no step of its own.
export function adjust(change: Partial<Route>): void {
	const next = href(change);
	history.replaceState(history.state, "", next);
	route.value = parse(next);
}
