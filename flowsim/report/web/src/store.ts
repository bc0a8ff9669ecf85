/** What all views share: the cursor, the part of the run in view, the selection. Deep links hold all of it. */

import { batch, computed, effect, signal } from "@preact/signals";
import { countUpTo } from "./model/facts";
import type { Model } from "./model/model";
import { isLow, isProjected } from "./projector";

export type Scale = "time" | "order";
/** The vertical scale of event time: by default relative to the watermark if many records are in view. */
const EVENT_SCALES = ["auto", "absolute", "relative"] as const;
export interface Selection {
  task: number | null;
  channel: number | null;
  operator: number | null;
  key: number | null;
  checkpoint: number | null;
}

export const GUTTER = 172;
const NOTHING: Selection = { task: null, channel: null, operator: null, key: null, checkpoint: null };
const NARROWEST = { time: 10, order: 4 };

const SELECTED = ["task", "channel", "operator", "key", "checkpoint"] as const;

function numberOf(link: URLSearchParams, name: string): number | null {
  const text = link.get(name);
  return text !== null && /^\d+$/.test(text) ? Number(text) : null;
}

export class Store {
  /** The place of the fact under the cursor. */
  readonly place = signal(0);
  readonly view = signal("start");
  /** x by virtual time, or by order: equal distances between facts, which shows what happens at one instant. */
  readonly scale = signal<Scale>("time");
  /** Whether the axis of time leaves out most of the time in which nothing happens. */
  readonly cutsGaps = signal(false);
  /** The part in view: ns since the start, or places. */
  readonly range = signal<readonly [number, number]>([0, 1]);
  readonly selection = signal<Selection>(NOTHING);
  readonly eventScale = signal<(typeof EVENT_SCALES)[number]>("auto");
  readonly playing = signal(false);
  /** The rule that the page of rules shows; "": its begin. */
  readonly rule = signal("");
  /** Whether the graph and the lanes are above the view. */
  readonly showsJob = signal(true);
  readonly time = computed(() => this.model.facts.time[this.place.value] ?? 0);

  constructor(
    readonly model: Model,
    private readonly views: readonly string[],
    /** At the end of ids in the page: "" or that of the second recording. */
    readonly suffix = "",
  ) {
    this.range.value = this.whole;
    this.open(location.hash);
    this.goToFirst(new URLSearchParams(location.hash.slice(1)));
  }

  /** Goes to the first moment of the start page, if the link names no moment. */
  private goToFirst(link: URLSearchParams): void {
    const [first] = this.model.head.start.look_at;
    if (!first || ["step", "t", "fact", "from"].some((name) => link.has(name))) return;
    const found = new URLSearchParams(first.link);
    if (!link.has("view")) for (const name of SELECTED) if (found.has(name)) this.select({ [name]: Number(found.get(name)) });
    this.goTo(found);
  }

  /** At the end of names of regions: each name is unique in the page. */
  get whose(): string {
    return this.suffix ? " in the second recording" : "";
  }

  get whole(): readonly [number, number] {
    const { facts } = this.model;
    return this.scale.value === "time" ? [facts.begin, Math.max(facts.end, facts.begin + 1)] : [0, Math.max(facts.count - 1, 1)];
  }

  /** By order there are no gaps. */
  get isCut(): boolean {
    return this.cutsGaps.value && this.scale.value === "time";
  }

  /** The value of a place on the current scale. */
  valueOf(place: number): number {
    return this.scale.value === "time" ? this.model.facts.time[place]! : place;
  }

  /** The place of a value on the current scale: the last fact at or before it. */
  placeOf(value: number): number {
    return this.scale.value === "time" ? this.model.facts.placeAt(value) : this.within(Math.round(value));
  }

  within(place: number): number {
    return Math.min(Math.max(0, place), Math.max(0, this.model.facts.count - 1));
  }

  go(place: number): void {
    batch(() => {
      this.place.value = this.within(place);
      this.follow();
    });
  }

  step(by: number): void {
    this.go(this.place.value + by);
  }

  /** Goes to a fact of a task by its seq; false if it is not in the report. */
  goToFact(task: number, seq: number): boolean {
    const place = this.model.facts.placeOf(task, seq);
    if (place === undefined) return false;
    this.go(place);
    return true;
  }

  select(change: Partial<Selection>): void {
    this.selection.value = { ...this.selection.value, ...change };
  }

  setScale(scale: Scale): void {
    if (scale === this.scale.value) return;
    batch(() => {
      const { facts } = this.model;
      const [from, to] = this.range.value;
      this.scale.value = scale;
      this.setRange(
        scale === "order"
          ? [countUpTo(facts.time, from - 1), countUpTo(facts.time, to)]
          : [facts.time[this.within(Math.floor(from))]!, facts.time[this.within(Math.ceil(to))]!],
      );
    });
  }

  /** The factor is below 1 to see less of the run; ``at`` stays where it is in view. */
  zoom(factor: number, at = this.valueOf(this.place.value)): void {
    const [from, to] = this.range.value;
    const fixed = Math.min(Math.max(at, from), to);
    this.setRange([fixed - (fixed - from) * factor, fixed + (to - fixed) * factor]);
  }

  pan(by: number): void {
    const [from, to] = this.range.value;
    const [first, last] = this.whole;
    const inside = Math.min(Math.max(by, first - from), last - to);
    this.setRange([from + inside, to + inside]);
  }

  setRange([from, to]: readonly [number, number]): void {
    const [first, last] = this.whole;
    const least = Math.min(NARROWEST[this.scale.value], last - first);
    const length = Math.min(Math.max(to - from, least), last - first);
    const begin = Math.min(Math.max(from, first), last - length);
    this.range.value = [begin, begin + length];
  }

  /** Moves the part in view so that it holds the cursor. */
  follow(): void {
    const at = this.valueOf(this.place.value);
    const [from, to] = this.range.value;
    if (at < from) this.pan(at - from - (to - from) / 4);
    else if (at > to) this.pan(at - to + (to - from) / 4);
  }

  /** Reads a deep link: view, step (or t, or fact=TASK.SEQ), from, to, scale, gaps, y, job, screen, rule, task, channel, operator, key, checkpoint. */
  open(hash: string): void {
    const given = new URLSearchParams(hash.replace(/^#/, ""));
    const number = (name: string) => numberOf(given, name);
    batch(() => {
      const view = given.get("view");
      if (view !== null && this.views.includes(view)) this.view.value = view;
      const scale = given.get("scale");
      if (scale === "time" || scale === "order") this.setScale(scale);
      this.cutsGaps.value = given.get("gaps") === "cut";
      this.eventScale.value = EVENT_SCALES.find((one) => one === given.get("y")) ?? "auto";
      this.rule.value = given.get("rule") ?? "";
      // A link inside of a report does not end this mode.
      if (given.get("screen") === "projector") isProjected.value = true;
      this.showsJob.value = given.get("job") !== "hidden" && !isLow();
      const [from, to] = [number("from"), number("to")];
      if (from !== null && to !== null && from < to) this.setRange([from, to]);
      for (const name of SELECTED) this.select({ [name]: number(name) });
      this.goTo(given);
    });
  }

  /** Goes to the fact of a link, or to its step, or to its time. */
  private goTo(given: URLSearchParams): void {
    const fact = /^(\d+)\.(\d+)$/.exec(given.get("fact") ?? "");
    const [step, time] = [numberOf(given, "step"), numberOf(given, "t")];
    if (fact && this.goToFact(Number(fact[1]), Number(fact[2]))) return;
    if (step !== null) this.go(this.model.facts.placeOfStep(step));
    else if (time !== null) this.go(this.model.facts.placeAt(time));
  }

  get link(): string {
    const parts: [string, string | number][] = [["view", this.view.value]];
    for (const name of SELECTED) {
      const value = this.selection.value[name];
      if (value !== null) parts.push([name, value]);
    }
    parts.push(["step", this.model.facts.step[this.place.value] ?? 0]);
    if (this.scale.value === "order") parts.push(["scale", "order"]);
    if (this.cutsGaps.value) parts.push(["gaps", "cut"]);
    if (this.eventScale.value !== "auto") parts.push(["y", this.eventScale.value]);
    if (this.view.value === "rules" && this.rule.value) parts.push(["rule", this.rule.value]);
    if (!this.showsJob.value) parts.push(["job", "hidden"]);
    if (isProjected.value) parts.push(["screen", "projector"]);
    const [from, to] = this.range.value;
    const [first, last] = this.whole;
    if (from !== first || to !== last) parts.push(["from", Math.floor(from)], ["to", Math.ceil(to)]);
    return `#${parts.map(([name, value]) => `${name}=${value}`).join("&")}`;
  }

  /** Keeps the address up to date, and follows links inside the page. */
  keepLink(): void {
    let waiting = 0;
    effect(() => {
      const { link } = this;
      clearTimeout(waiting);
      // In a frame without an address of its own, a link alone would be relative to the address of the page around it.
      waiting = setTimeout(() => history.replaceState(null, "", location.href.split("#")[0] + link), 200);
    });
    addEventListener("hashchange", () => this.open(location.hash));
  }
}
