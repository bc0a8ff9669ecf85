/** Places of the vertices and edges of the job graph, left to right. */

import { Graph, layout as dagreLayout } from "@dagrejs/dagre";
import type { Names } from "./names";

export interface Box {
  id: number;
  x: number;
  y: number;
  width: number;
  height: number;
}

/** An edge: its points, and the middle of its label. */
export interface Line {
  id: number;
  points: { x: number; y: number }[];
  x: number;
  y: number;
}

/** Widths of boxes, by the name, and of labels of edges. */
export interface Sizes {
  least: number;
  most: number;
  label: number;
  apart: number;
}

export interface Layout {
  sizes: Sizes;
  boxes: Box[];
  lines: Line[];
  width: number;
  height: number;
}

export const BOX_HEIGHT = 78;
export const SUBTASK_HEIGHT = 18;
export const LABEL_HEIGHT = 48;
/** Of the line below a label that says why its exchange is aligned. */
export const MARK_HEIGHT = 16;
/** From the most room to the least: for long jobs in narrow places. */
export const SIZES: readonly Sizes[] = [
  { least: 220, most: 320, label: 168, apart: 28 },
  { least: 220, most: 220, label: 140, apart: 16 },
  { least: 120, most: 120, label: 104, apart: 16 },
];
/** Left and right of a name. */
export const PADDING = 10;
const MARGIN = 8;

/** ``widthOf``: of the name of a vertex. */
export function layoutOf(names: Names, expanded: ReadonlySet<number>, sizes: Sizes, widthOf: (vertex: number) => number): Layout {
  const graph = new Graph({ multigraph: true });
  graph.setGraph({ rankdir: "LR", nodesep: 24, ranksep: sizes.apart, marginx: MARGIN, marginy: MARGIN });
  for (const vertex of names.vertices) {
    const more = expanded.has(vertex) ? names.tasksOf(vertex).length * SUBTASK_HEIGHT + 6 : 0;
    const width = Math.min(sizes.most, Math.max(sizes.least, Math.ceil(widthOf(vertex)) + 2 * PADDING));
    graph.setNode(String(vertex), { width, height: BOX_HEIGHT + more });
  }
  for (const edge of names.edges.values()) {
    const height = LABEL_HEIGHT + (names.forced(edge.id) ? MARK_HEIGHT : 0);
    const label = { width: sizes.label, height, labelpos: "c" };
    graph.setEdge(String(edge.source), String(edge.target), label, String(edge.id));
  }
  dagreLayout(graph);
  const boxes = graph.nodes().map((id: string) => {
    const { x, y, width, height } = graph.node(id) as { x: number; y: number; width: number; height: number };
    return { id: Number(id), x: x - width / 2, y: y - height / 2, width, height };
  });
  const lines = graph.edges().map((edge: { v: string; w: string; name?: string }) => {
    const { points, x, y } = graph.edge(edge) as { points: { x: number; y: number }[]; x: number; y: number };
    return { id: Number(edge.name), points, x, y };
  });
  const { width, height } = graph.graph() as { width: number; height: number };
  return { sizes, boxes, lines, width: width || 0, height: height || 0 };
}
