/** Times and numbers as text, as flowsim/trace writes them. */

import { BOUND } from "../decode";

export const NO_TIMESTAMP = -BOUND;
export const MAX_WATERMARK = BOUND;
const FIRST_DATE_MS = 31_536_000_000;
const LAST_DATE_MS = 253_402_300_799_999;

export function commas(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

export function count(value: number, noun: string, plural = `${noun}s`): string {
  return `${commas(value)} ${value === 1 ? noun : plural}`;
}

export function joined(...words: string[]): string {
  return words.filter(Boolean).join(" ");
}

/** The first texts of many. */
export function listed(texts: readonly string[], most = 12): string {
  const shown = texts.slice(0, most).join(", ");
  return texts.length > most ? `${shown} and ${commas(texts.length - most)} more` : shown;
}

const UNITS = [[9, "s"], [6, "ms"], [3, "us"], [0, "ns"]] as const;

/** Time since the start of the run, exact to the nanosecond and as short as it can be: "7 ms", "10 s", "12.3 us". */
export function moment(ns: number): string {
  const [digits, unit] = UNITS.find(([digits]) => Math.abs(ns) >= 10 ** digits) ?? [6, "ms"];
  const whole = Math.floor(Math.abs(ns) / 10 ** digits);
  const rest = String(Math.abs(ns) - whole * 10 ** digits).padStart(digits, "0").replace(/0+$/, "");
  return `${ns < 0 ? "-" : ""}${whole}${rest && "."}${rest} ${unit}`;
}

export function utc(timestamp: number): string {
  if (timestamp < FIRST_DATE_MS || timestamp > LAST_DATE_MS) return "";
  const text = new Date(timestamp).toISOString().replace("T", " ").replace("Z", "");
  if (timestamp % 1000) return text;
  return timestamp % 60_000 ? text.slice(0, 19) : text.slice(0, 16);
}

export function eventTime(timestamp: number): string {
  if (timestamp === NO_TIMESTAMP) return "none";
  if (timestamp === MAX_WATERMARK) return "MAX (end of event time)";
  const date = utc(timestamp);
  return date ? `${timestamp} = ${date}` : `${commas(timestamp)} ms`;
}

/** An event time as short text: a date, or a number of ms. */
export function atTime(ms: number): string {
  if (ms === MAX_WATERMARK) return "MAX";
  if (ms === NO_TIMESTAMP) return "none";
  return utc(ms) || commas(ms);
}

/** A length of event time in ms, and from one minute on also in larger units. */
export function eventTimeSpan(ms: number): string {
  return ms < 60_000 ? `${commas(ms)} ms` : `${commas(ms)} ms (${duration(ms * 1e6)})`;
}

/** A length of event time, short: "30 min", "1 h 5 min 2 s", "8 ms". */
export function length(ms: number): string {
  return `${ms < 0 ? "-" : ""}${duration(Math.abs(ms) * 1e6).replace(/ 0 s$/, "").replace(/ h 0 min$/, " h")}`;
}

export function windowText(start: number, end: number): string {
  if (start === NO_TIMESTAMP) return "the global window";
  const first = utc(start);
  const last = utc(end);
  if (!first || !last) return `window [${commas(start)}, ${commas(end)})`;
  const sameDay = first.slice(0, 10) === last.slice(0, 10);
  return `window [${start}, ${end}) = [${first}, ${sameDay ? last.slice(11) : last})`;
}

export function duration(ns: number): string {
  if (ns >= 60e9) {
    const minutes = Math.floor(ns / 60e9);
    const rest = Math.floor(ns / 1e9) % 60;
    const hours = Math.floor(minutes / 60);
    return hours ? `${hours} h ${minutes % 60} min ${rest} s` : `${minutes} min ${rest} s`;
  }
  for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["us", 1e3]] as const) {
    if (ns >= size) return `${Number((ns / size).toPrecision(4))} ${unit}`;
  }
  return `${ns} ns`;
}

/** One decimal; exact halves are rounded to even, as Python does. */
export function oneDecimal(value: number): string {
  const tenths = value * 10;
  const isTie = Number.isInteger(value * 4) && Math.abs(tenths % 1) === 0.5;
  return isTie ? (2 * Math.round(tenths / 2) / 10).toFixed(1) : value.toFixed(1);
}

/** As Python's format ",g": six significant digits, without zeros at the end. */
export function sixDigits(value: number): string {
  if (value !== 0 && (Math.abs(value) < 1e-4 || Math.abs(value) >= 999_999.5)) {
    const [digits, power] = value.toExponential(5).split("e") as [string, string];
    return `${Number(digits)}e${power[0]}${power.slice(1).padStart(2, "0")}`;
  }
  const [whole, rest] = String(Number(value.toPrecision(6))).split(".") as [string, string | undefined];
  return commas(Number(whole)) + (rest === undefined ? "" : `.${rest}`);
}
