/**
 * A canvas over time: sharp on any screen, redrawn when what it read changes; the cursor lies above it, and so do the frames
 * of the mark under the pointer and of the selected one.
 */

import { effect, untracked } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Store } from "../store";
import { Texts } from "./canvas_text";
import { colours, type Colours } from "./colours";
import { drawCuts } from "./axis";
import { zoom } from "../projector";
import { axisOf, type Axis } from "./horizontal";
import { Marks } from "./marks";
import { pointOf, Pointing } from "./pointing";
import { TOOLTIP } from "./tooltip";

const MOST_GROWTH = 2.5;

export interface Drawing {
  context: CanvasRenderingContext2D;
  texts: Texts;
  width: number;
  height: number;
  axis: Axis;
  colours: Colours;
  /** What is drawn registers itself here, back to front, so that it answers to the pointer. */
  marks: Marks;
}

/** Where a picture was clicked, and its height. */
export type Pick = (x: number, y: number, axis: Axis, height: number) => void;

interface Props {
  store: Store;
  /** In pixels, or a length of CSS. With ``grows`` at least: the canvas takes the height that its column has left. */
  height: number | string;
  grows?: boolean;
  /** What the picture shows, for those who cannot see it. */
  label: string;
  /** Must not read the cursor: it is drawn above, so that a step costs nothing. */
  draw: (drawing: Drawing) => void;
  /** A click on something that is not a mark. */
  onPick?: Pick;
}

/** How many times larger rows are drawn so that a picture of ``natural`` height fills ``height``. */
export function growth(natural: number, height: number): number {
  return Math.min(MOST_GROWTH, Math.max(1, height / natural));
}

export function TimeCanvas({ store, height: least, grows, label, draw, onPick }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const cursor = useRef<HTMLDivElement>(null);
  const hovered = useRef<HTMLDivElement>(null);
  const selected = useRef<HTMLDivElement>(null);
  const pointing = useRef<Pointing | null>(null);
  pointing.current?.take(store, onPick);

  useLayoutEffect(() => {
    const element = canvas.current!;
    let stop = () => {};
    const start = () => {
      stop();
      const { clientWidth: width, clientHeight: height } = box.current!;
      const ratio = (devicePixelRatio || 1) * zoom();
      element.width = Math.round(width * ratio);
      element.height = Math.round(height * ratio);
      pointing.current ??= new Pointing(box.current!, hovered.current!, selected.current!);
      pointing.current.take(store, onPick);
      const stopDrawing = effect(() => {
        const context = element.getContext("2d")!;
        context.setTransform(ratio, 0, 0, ratio, 0, 0);
        context.clearRect(0, 0, width, height);
        context.font = "11px system-ui, 'DejaVu Sans', sans-serif";
        const axis = axisOf(store, width);
        const marks = new Marks(axis, height);
        const drawing = { context, texts: new Texts(context, width, height), width, height, axis, colours: colours(), marks };
        draw(drawing);
        drawCuts(drawing);
        untracked(() => pointing.current!.redraw(marks));
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
  useLayoutEffect(() => () => pointing.current?.end(), []);

  return (
    <div
      class="canvas"
      ref={box}
      style={{ [grows ? "minHeight" : "height"]: typeof least === "number" ? `${least}px` : least, flexGrow: grows ? 1 : 0 }}
      tabIndex={0}
      role="group"
      aria-label={`${label}. Up and down go through its marks, Enter selects one`}
      aria-describedby={TOOLTIP}
      onPointerDown={(event) => pointing.current?.down(event)}
      onPointerMove={(event) => pointing.current?.move(event)}
      onPointerUp={(event) => pointing.current?.up(event)}
      onPointerLeave={() => pointing.current?.leave()}
      onKeyDown={(event) => pointing.current?.key(event)}
      onBlur={() => pointing.current?.leave()}
      onWheel={(event) => {
        event.preventDefault();
        const axis = axisOf(store, box.current!.clientWidth);
        if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
          store.pan(axis.valueAt(axis.left + event.deltaX) - axis.valueAt(axis.left));
        } else store.zoom(Math.exp(event.deltaY / 400), axis.valueAt(pointOf(box.current!, event).x));
      }}
    >
      <canvas ref={canvas} role="img" aria-label={label} />
      <div class="mark-frame" ref={hovered} hidden />
      <div class="mark-frame selected" ref={selected} hidden />
      <div class="cursor" ref={cursor} />
    </div>
  );
}
