/** A canvas over time: sharp on any screen, redrawn when what it read changes; the cursor lies above it. */

import { effect } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { GUTTER, type Store } from "../store";
import { colours, type Colours } from "./colours";

export const RIGHT = 12;
const MOST_GROWTH = 2.5;

/** From values of the scale to pixels, and back. */
export interface Axis {
  readonly left: number;
  readonly right: number;
  x(place: number): number;
  xOf(value: number): number;
  valueAt(x: number): number;
}

export function axisOf(store: Store, width: number): Axis {
  const [from, to] = store.range.value;
  const left = GUTTER;
  const right = Math.max(left + 1, width - RIGHT);
  const factor = (right - left) / (to - from);
  return {
    left,
    right,
    x: (place) => left + (store.valueOf(place) - from) * factor,
    xOf: (value) => left + (value - from) * factor,
    valueAt: (x) => from + (x - left) / factor,
  };
}

export interface Drawing {
  context: CanvasRenderingContext2D;
  width: number;
  height: number;
  axis: Axis;
  colours: Colours;
}

interface Props {
  store: Store;
  /** At least; with ``grows`` the canvas takes the height that its column has left. */
  height: number;
  grows?: boolean;
  /** What the picture shows, for those who cannot see it. */
  label: string;
  /** Must not read the cursor: it is drawn above, so that a step costs nothing. */
  draw: (drawing: Drawing) => void;
  onPick?: (x: number, y: number, axis: Axis, height: number) => void;
}

/** How many times larger rows are drawn so that a picture of ``natural`` height fills ``height``. */
export function growth(natural: number, height: number): number {
  return Math.min(MOST_GROWTH, Math.max(1, height / natural));
}

export function TimeCanvas({ store, height: least, grows, label, draw, onPick }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const cursor = useRef<HTMLDivElement>(null);

  useLayoutEffect(() => {
    const element = canvas.current!;
    let stop = () => {};
    const start = () => {
      stop();
      const { clientWidth: width, clientHeight: height } = box.current!;
      const ratio = devicePixelRatio || 1;
      element.width = Math.round(width * ratio);
      element.height = Math.round(height * ratio);
      const stopDrawing = effect(() => {
        const context = element.getContext("2d")!;
        context.setTransform(ratio, 0, 0, ratio, 0, 0);
        context.clearRect(0, 0, width, height);
        context.font = "11px system-ui, 'DejaVu Sans', sans-serif";
        draw({ context, width, height, axis: axisOf(store, width), colours: colours() });
      });
      const stopCursor = effect(() => {
        const axis = axisOf(store, width);
        const x = axis.x(store.place.value);
        cursor.current!.style.transform = `translateX(${x}px)`;
        cursor.current!.hidden = x < axis.left - 1 || x > axis.right + 1;
      });
      stop = () => {
        stopDrawing();
        stopCursor();
      };
    };
    const observer = new ResizeObserver(start);
    observer.observe(box.current!);
    return () => {
      observer.disconnect();
      stop();
    };
  }, [store, least, draw]);

  const move = (event: PointerEvent) => {
    const bounds = box.current!.getBoundingClientRect();
    const x = event.clientX - bounds.left;
    const axis = axisOf(store, bounds.width);
    if (x >= axis.left) store.go(store.placeOf(axis.valueAt(Math.min(x, axis.right))));
  };

  return (
    <div
      class="canvas"
      ref={box}
      style={{ [grows ? "minHeight" : "height"]: `${least}px`, flexGrow: grows ? 1 : 0 }}
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
        move(event);
        const bounds = box.current!.getBoundingClientRect();
        onPick?.(event.clientX - bounds.left, event.clientY - bounds.top, axisOf(store, bounds.width), bounds.height);
      }}
      onPointerMove={(event) => event.buttons & 1 && move(event)}
      onWheel={(event) => {
        event.preventDefault();
        const bounds = box.current!.getBoundingClientRect();
        const axis = axisOf(store, bounds.width);
        if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
          store.pan(axis.valueAt(axis.left + event.deltaX) - axis.valueAt(axis.left));
        } else store.zoom(Math.exp(event.deltaY / 400), axis.valueAt(event.clientX - bounds.left));
      }}
    >
      <canvas ref={canvas} role="img" aria-label={label} />
      <div class="cursor" ref={cursor} />
    </div>
  );
}
