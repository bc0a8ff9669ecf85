/** The place that a picture has. */

import type { RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

const BORDERS = 2;
/** In narrower places the parts of a picture are one below the other. */
const NARROW = 1000;

/** In pixels: as wide as its box, and at most as high as the style sheet allows; Infinity: not known. */
export interface Room {
  width: number;
  height: number;
}

export function useRoom(): [RefObject<HTMLDivElement | null>, Room] {
  const box = useRef<HTMLDivElement>(null);
  const [room, setRoom] = useState<Room>({ width: Infinity, height: Infinity });
  useLayoutEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      const most = parseFloat(getComputedStyle(box.current!).maxHeight) - BORDERS;
      setRoom({ width: entry!.contentRect.width, height: most || Infinity });
    });
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  return [box, room];
}

export function isNarrow({ width }: Room): boolean {
  return width < NARROW;
}
