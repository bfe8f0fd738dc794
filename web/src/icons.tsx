// Marks of ten pixels, drawn, since system fonts do not agree on symbols.
const PATHS: { [name: string]: string } = {
	caveat: "M5 .8 9.6 9.2H.4Z M5 3.6v2.7 M5 7.5v.4",
	unstable: "M.6 6.2C2 1.8 3.6 1.8 5 5s3 3.2 4.4-1.2",
	levels: "M.6 7.6h3V2.4h3v5.2h2.8",
	failed: "M1.6 1.6l6.8 6.8 M8.4 1.6 1.6 8.4",
};

export function Mark({ name }: { name: keyof typeof PATHS & string }) {
	return (
		<svg class={`mark mark-${name}`} viewBox="0 0 10 10" width="10" height="10" aria-hidden="true">
			<path d={PATHS[name]} fill="none" stroke="currentColor" stroke-width="1.3" stroke-linecap="round" stroke-linejoin="round" />
		</svg>
	);
}
