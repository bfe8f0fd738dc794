// Light, dark, or as the system has it. A preference of the reader, not of the view: it is kept
// in the browser and not in the address.
import { signal } from "@preact/signals";

export type Theme = "auto" | "light" | "dark";
const KEY = "roimeter-theme";

function stored(): Theme {
	try {
		const t = localStorage.getItem(KEY);
		return t === "light" || t === "dark" ? t : "auto";
	} catch {
		return "auto"; // some browsers keep nothing for pages opened as files
	}
}

export const theme = signal<Theme>(stored());

function apply(): void {
	if (theme.value === "auto")
		delete document.documentElement.dataset.theme;
	else
		document.documentElement.dataset.theme = theme.value;
}

apply();

export function set_theme(t: Theme): void {
	theme.value = t;
	apply();
	try {
		localStorage.setItem(KEY, t);
	} catch {
		// It holds until the page is closed, then.
	}
}
