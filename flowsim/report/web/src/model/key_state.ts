/** The windows, timers and keyed state of one key in one operator, over time. */

import { isIn, type Attempts } from "./attempts";
import type { EventTimes } from "./event_time";
import { countUpTo, type Facts } from "./facts";
import { StateChange, Timer } from "./kinds";
import type { Names } from "./names";
import { rowsOf } from "./points";
import { eventTime, windowText } from "./text";
import type { WindowBox } from "./windows";

/** An operator of a task that has keyed state, timers of keys, or windows. */
export interface StateSubject {
  task: number;
  operator: number;
}

/** One state of the key, or its part that belongs to one window. */
export interface Cell {
  name: string;
  kind: string;
  /** "" without a window. */
  window: string;
  /** The places of its changes, and what it holds after each; null: nothing. */
  places: number[];
  values: (string | null)[];
  entries: number[];
}

export interface TimerBar {
  isEventTime: boolean;
  timestamp: number;
  window: string;
  begin: number;
  /** Where it fired or was deleted, or its attempt ended; Infinity if none of these happened. */
  end: number;
  fired: boolean;
  /** Whether its attempt ended before it. */
  isLost: boolean;
}

export interface StateNow {
  cells: { name: string; kind: string; window: string; value: string; entries: number; since: number }[];
  timers: TimerBar[];
  windows: WindowBox[];
}

/** A value that the report does not contain. */
export const UNKNOWN = "?";

export class KeyState {
  /** The places of all changes, in order. */
  readonly places: number[];

  constructor(
    readonly cells: Cell[],
    readonly timers: TimerBar[],
    readonly windows: WindowBox[],
  ) {
    const places = new Set([...cells.flatMap((cell) => cell.places), ...timers.map((timer) => timer.begin)]);
    for (const { end } of timers) if (end < Infinity) places.add(end);
    for (const { first, fires } of windows) [first, ...fires.map((fire) => fire.place)].forEach((place) => places.add(place));
    this.places = [...places].sort((one, other) => one - other);
  }

  at(place: number): StateNow {
    const cells = this.cells.flatMap((cell) => {
      const at = countUpTo(cell.places, place) - 1;
      const value = at < 0 ? null : cell.values[at]!;
      if (value === null) return [];
      const { name, kind, window } = cell;
      return [{ name, kind, window, value, entries: cell.entries[at]!, since: cell.places[at]! }];
    });
    return {
      cells,
      timers: this.timers.filter((timer) => timer.begin <= place && place < timer.end),
      windows: this.windows.filter((box) => box.first <= place && place < box.gone),
    };
  }
}

export class KeyStates {
  private found: StateSubject[] | null = null;
  private readonly keysOfSubject = new Map<string, number[]>();

  constructor(
    private readonly facts: Facts,
    private readonly names: Names,
    private readonly eventTimes: EventTimes,
    private readonly attempts: Attempts,
  ) {}

  /** Operators with recorded changes of state first. */
  get subjects(): StateSubject[] {
    if (this.found) return this.found;
    const found = new Map<string, StateSubject>();
    for (const table of ["state_changes", "timers", "window_intake", "window_fire"]) {
      const { rows, columns, places } = this.facts.of(table);
      for (let row = 0; row < rows; row++) {
        const [task, operator] = [this.facts.task[places[row]!]!, columns.operator![row]!];
        if (columns.key![row]) found.set(`${task} ${operator}`, { task, operator });
      }
    }
    return (this.found = [...found.values()]);
  }

  subject(task: number | null, operator: number | null): StateSubject | undefined {
    const ofTask = this.subjects.filter((one) => one.task === task);
    return ofTask.find((one) => one.operator === operator) ?? ofTask[0];
  }

  /** The keys of an operator, in the order of their first facts. */
  keys({ task, operator }: StateSubject): number[] {
    const name = `${task} ${operator}`;
    let keys = this.keysOfSubject.get(name);
    if (!keys) {
      const found = new Set<number>();
      for (const table of ["state_changes", "window_intake", "window_fire", "timers"]) {
        const of = this.facts.of(table);
        for (const row of rowsOf(this.facts, of, task, operator)) if (of.columns.key![row]) found.add(of.columns.key![row]!);
      }
      keys = [...found];
      this.keysOfSubject.set(name, keys);
    }
    return keys;
  }

  of(subject: StateSubject, key: number): KeyState {
    const ofWindows = this.eventTimes.subject(subject.task, subject.operator);
    const hasWindows = ofWindows !== undefined && ofWindows.operator === subject.operator;
    const windows = hasWindows ? this.eventTimes.of(ofWindows).windows.filter((box) => box.key === key) : [];
    return new KeyState(this.cells(subject, key), this.timers(subject, key), windows);
  }

  private cells({ task, operator }: StateSubject, key: number): Cell[] {
    const table = this.facts.of("state_changes");
    const { columns, places } = table;
    const isOfKey = (row: number) => columns.key![row] === key;
    // A row above EXPIRE is no change: law state found a difference.
    const isChange = (row: number) => columns.action![row]! <= StateChange.EXPIRE;
    const rows = rowsOf(this.facts, table, task, operator).filter((row) => isOfKey(row) && isChange(row));
    const cells = new Map<string, Cell>();
    for (const { begin, own, isRestarted, restored } of this.attempts.of(task)) {
      const held = new Map<string, Contents>();
      const apply = (row: number): [Cell, Contents] => {
        const [start, end] = [columns.window_start![row]!, columns.window_end![row]!];
        const [name, kind] = this.names.state(task, operator, columns.state![row]!);
        const id = `${columns.state![row]} ${start} ${end}`;
        const window = start || end ? windowText(start, end) : "";
        const cell = known(cells, id, () => ({ name, kind, window, places: [], values: [], entries: [] }));
        const contents = known(held, id, () => contentsOf(kind));
        const record = columns.record![row]!;
        contents.apply(columns.action![row]!, record ? this.names.record(record) || UNKNOWN : UNKNOWN, columns.entries![row]!);
        return [cell, contents];
      };
      const entries = new Map<Cell, [Contents, number]>();
      for (const row of rows.filter((one) => isIn(restored ?? [], places[one]!))) {
        const [cell, contents] = apply(row);
        entries.set(cell, [contents, columns.entries![row]!]);
      }
      for (const [cell, [contents, count]] of entries) if (count) addChange(cell, begin, contents.text, count);
      for (const row of rows.filter((one) => isIn([own], places[one]!))) {
        const [cell, contents] = apply(row);
        addChange(cell, places[row]!, contents.text, columns.entries![row]!);
      }
      for (const cell of cells.values()) if (isRestarted && cell.entries.at(-1)) addChange(cell, own[1], "", 0);
    }
    return [...cells.values()];
  }

  private timers({ task, operator }: StateSubject, key: number): TimerBar[] {
    const table = this.facts.of("timers");
    const { columns, places } = table;
    const rows = rowsOf(this.facts, table, task, operator).filter((row) => columns.key![row] === key);
    const found: TimerBar[] = [];
    for (const { begin, own, isRestarted, restored } of this.attempts.of(task)) {
      const open = new Map<string, TimerBar>();
      const apply = (row: number) => {
        const [start, end] = [columns.window_start![row]!, columns.window_end![row]!];
        const timestamp = columns.timestamp![row]!;
        const id = `${columns.service![row]} ${columns.domain![row]} ${timestamp} ${start} ${end}`;
        const bar = open.get(id);
        if (columns.action![row] === Timer.REGISTER) {
          const window = start < end ? windowText(start, end) : "";
          const isEventTime = columns.domain![row] === 0;
          if (!bar) open.set(id, { isEventTime, timestamp, window, begin: places[row]!, end: Infinity, fired: false, isLost: false });
        } else if (bar) {
          open.delete(id);
          if (places[row]! > own[0]) found.push({ ...bar, end: places[row]!, fired: columns.action![row] === Timer.FIRE });
        }
      };
      rows.filter((row) => isIn(restored ?? [], places[row]!)).forEach(apply);
      for (const [id, bar] of open) open.set(id, { ...bar, begin });
      rows.filter((row) => isIn([own], places[row]!)).forEach(apply);
      for (const bar of open.values()) found.push(isRestarted ? { ...bar, end: own[1], isLost: true } : bar);
    }
    return found.sort((one, other) => one.begin - other.begin);
  }
}

function known<T>(all: Map<string, T>, id: string, make: () => T): T {
  let found = all.get(id);
  if (found === undefined) all.set(id, (found = make()));
  return found;
}

function addChange(cell: Cell, place: number, text: string, entries: number): void {
  cell.places.push(place);
  cell.values.push(entries ? text : null);
  cell.entries.push(entries);
}

export function timerText({ isEventTime, timestamp, window }: TimerBar): string {
  const what = isEventTime ? "event-time timer" : "processing-time timer";
  return `${what} ${eventTime(timestamp)}${window ? `, ${window}` : ""}`;
}

/** What a state holds, from its changes. */
interface Contents {
  text: string;
  apply(action: number, text: string, entries: number): void;
}

function contentsOf(kind: string): Contents {
  if (kind === "list" || kind === "window_records") return new ListContents();
  return kind === "map" ? new MapContents() : new SingleValue();
}

class SingleValue implements Contents {
  text = UNKNOWN;

  apply(_: number, text: string): void {
    this.text = text;
  }
}

class ListContents implements Contents {
  /** null: several elements expired, and which ones is not recorded. */
  private elements: string[] | null = [];

  get text(): string {
    return this.elements === null ? UNKNOWN : `[${this.elements.join(",")}]`;
  }

  apply(action: number, text: string, entries: number): void {
    if (action === StateChange.CLEAR || entries === 0) this.elements = [];
    else if (action === StateChange.ADD) this.elements?.push(text);
    else if (action === StateChange.PUT) this.elements = elementsOf(text);
    else this.elements = null;
    if (this.elements && this.elements.length !== entries) this.elements = null;
  }
}

class MapContents implements Contents {
  private readonly values = new Map<string, string>();
  private isKnown = true;

  get text(): string {
    const entries = [...this.values].map(([key, value]) => `${key}: ${value}`);
    return this.isKnown ? `{${entries.join(", ")}}` : UNKNOWN;
  }

  apply(action: number, text: string, entries: number): void {
    if (action === StateChange.CLEAR || entries === 0) {
      this.values.clear();
      this.isKnown = true;
      return;
    }
    if (action === StateChange.PUT || action === StateChange.ADD) {
      const [key, value] = elementsOf(text) ?? [];
      if (key === undefined || value === undefined) this.isKnown = false;
      else if (action === StateChange.PUT) this.values.set(key, value);
      else this.values.set(key, `[${[...(elementsOf(this.values.get(key) ?? "[]") ?? []), value].join(",")}]`);
    } else this.values.delete(text);
    if (this.values.size !== entries) this.isKnown = false;
  }
}

/** The elements of a JSON array as JSON; null if the text was shortened. */
function elementsOf(text: string): string[] | null {
  try {
    const found: unknown = JSON.parse(text);
    return Array.isArray(found) ? found.map((one) => JSON.stringify(one)) : null;
  } catch {
    return null;
  }
}
