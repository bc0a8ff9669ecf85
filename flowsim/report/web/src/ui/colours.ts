/** Colours of section "light" and "dark"; each has a second sign beside it: hatching, a shape, a word. */

import { signal } from "@preact/signals";
import { isProjected, zoom } from "../projector";

const LIGHT = {
  idle: "#5db1ff", busy: "#ee6464", soft: "#888888", hard: "#000000",
  filling: "#ffe3a3", queued: "#e69f00", waits: "#56b4e9", read: "#0072b2",
  inTime: "#00795c", behind: "#e69f00", late: "#b3261e",
  watermark: "#2563eb", window: "#4b5563",
  credits: "#00795c", noCredit: "#b84a00",
  text: "#1b1f24", faint: "#57606a", line: "#d0d7de", back: "#ffffff", panel: "#f6f8fa", accent: "#0b57d0",
};
const DARK: typeof LIGHT = {
  idle: "#5db1ff", busy: "#ee6464", soft: "#888888", hard: "#e6edf3",
  filling: "#6b5416", queued: "#e69f00", waits: "#56b4e9", read: "#3d9bdc",
  inTime: "#22d3a6", behind: "#ffd866", late: "#ff5d5d",
  watermark: "#388bfd", window: "#8b949e",
  credits: "#22d3a6", noCredit: "#ff9b5e",
  text: "#e6edf3", faint: "#9aa4b0", line: "#3a424c", back: "#0d1117", panel: "#161b22", accent: "#6ea8fe",
};
/** For a projector: every text has a contrast of 7:1 at least. */
const STRONG: typeof LIGHT = {
  ...LIGHT,
  busy: "#f28080", read: "#00416b", inTime: "#005040", behind: "#7a4100", late: "#8f0000", watermark: "#0033a0", window: "#333333",
  credits: "#005040", noCredit: "#7a2e00", text: "#000000", faint: "#333333", line: "#767676", panel: "#f2f2f2", accent: "#003a8c",
};

export type Colours = typeof LIGHT;
export type Fill = string | CanvasPattern;

const dark = matchMedia("(prefers-color-scheme: dark)");
const isDark = signal(dark.matches);
dark.addEventListener("change", () => (isDark.value = dark.matches));

/** Reading it redraws when the colour scheme or the mode changes. */
export function colours(): Colours {
  return isProjected.value ? STRONG : isDark.value ? DARK : LIGHT;
}

/** The style sheet uses the same colours. */
export function setVariables(): void {
  const { style, classList } = document.documentElement;
  for (const [name, value] of Object.entries({ ...colours(), zoom: String(zoom()) })) style.setProperty(`--${name}`, value);
  style.colorScheme = isProjected.value ? "light" : "";
  classList.toggle("projected", isProjected.value);
}

/** The darkest colour on which black has more contrast than white: its luminance. */
const LIGHT_ENOUGH = 0.179;

/** Black or white: what can be read on a colour ``#rrggbb``. */
export function inkOn(colour: string): string {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue! > LIGHT_ENOUGH ? "#000000" : "#ffffff";
}

/** Diagonal lines of a colour. */
export function hatched(context: CanvasRenderingContext2D, colour: string, back = "transparent"): CanvasPattern {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 12;
  const on = tile.getContext("2d")!;
  on.fillStyle = back;
  on.fillRect(0, 0, 12, 12);
  on.strokeStyle = colour;
  on.lineWidth = 2.2;
  on.beginPath();
  for (const shift of [-12, -6, 0, 6, 12]) {
    on.moveTo(shift, 12);
    on.lineTo(shift + 12, 0);
  }
  on.stroke();
  const pattern = context.createPattern(tile, "repeat")!;
  pattern.setTransform(new DOMMatrix().scale(0.5));
  return pattern;
}
