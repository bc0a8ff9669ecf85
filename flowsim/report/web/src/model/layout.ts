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

export interface Layout {
  boxes: Box[];
  lines: Line[];
  width: number;
  height: number;
}

export const BOX_WIDTH = 220;
export const BOX_HEIGHT = 78;
export const SUBTASK_HEIGHT = 18;
export const LABEL_WIDTH = 168;
export const LABEL_HEIGHT = 48;
/** Of the line below a label that says why its exchange is aligned. */
export const MARK_HEIGHT = 16;
const MARGIN = 8;

export function layoutOf(names: Names, expanded: ReadonlySet<number>): Layout {
  const graph = new Graph({ multigraph: true });
  graph.setGraph({ rankdir: "LR", nodesep: 24, ranksep: 28, marginx: MARGIN, marginy: MARGIN });
  for (const vertex of names.vertices) {
    const more = expanded.has(vertex) ? names.tasksOf(vertex).length * SUBTASK_HEIGHT + 6 : 0;
    graph.setNode(String(vertex), { width: BOX_WIDTH, height: BOX_HEIGHT + more });
  }
  for (const edge of names.edges.values()) {
    const height = LABEL_HEIGHT + (names.forced(edge.id) ? MARK_HEIGHT : 0);
    const label = { width: LABEL_WIDTH, height, labelpos: "c" };
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
  return { boxes, lines, width: width || 0, height: height || 0 };
}
