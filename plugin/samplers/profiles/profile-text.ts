/**
 * Formats profiles as files for Chrome's DevTools and speedscope. The profiles of several processes have a common root.
 */
import type { V8Profile } from '../../../protocol/profiles/profile-schema.ts';

type Node = V8Profile['nodes'][number];
type HeapNode = { selfSize: number; children: HeapNode[] };

const ROOT: Node = { name: '(root)', url: '', line: 0, self: 0, parent: -1 };

/** Returns the text of a `.heapprofile` file. */
export function heapProfileText(profiles: V8Profile[]): string {
  const nodes = mergeNodes(profiles);
  const tree = nodes.map((node, index) => ({
    ...{ callFrame: callFrame(node), selfSize: node.self, id: index + 1 },
    children: [] as HeapNode[],
  }));
  for (const [index, { parent }] of nodes.entries()) tree[parent]?.children.push(tree[index] as HeapNode);
  return JSON.stringify({ head: tree[0], samples: [] });
}

/** Returns the text of a `.cpuprofile` file. Its samples are in the order of the call tree, not of time. */
export function cpuProfileText(profiles: V8Profile[]): string {
  const nodes = mergeNodes(profiles);
  const tree = nodes.map((node, index) => ({
    ...{ id: index + 1, callFrame: callFrame(node), hitCount: node.self > 0 ? 1 : 0 },
    children: [] as number[],
  }));
  for (const [index, { parent }] of nodes.entries()) tree[parent]?.children.push(index + 1);
  // In this format, a sample lasts until the next sample, so the last sample is written twice.
  const samples: number[] = [];
  const timeDeltas = [0];
  for (const open = [1]; open.length > 0; ) {
    const id = open.pop() as number;
    const self = Math.round(nodes[id - 1]?.self ?? 0);
    if (self > 0) {
      samples.push(id);
      timeDeltas.push(self);
    }
    open.push(...(tree[id - 1]?.children ?? []).toReversed());
  }
  if (samples.length > 0) samples.push(samples.at(-1) as number);
  const endTime = timeDeltas.reduce((sum, delta) => sum + delta, 0);
  return JSON.stringify({ nodes: tree, startTime: 0, endTime, samples, timeDeltas });
}

function mergeNodes(profiles: V8Profile[]): Node[] {
  const all = [ROOT];
  for (const { nodes } of profiles) {
    const first = all.length;
    for (const node of nodes) all.push({ ...node, parent: node.parent < 0 ? 0 : first + node.parent });
  }
  return all;
}

function callFrame({ name, url, line }: Node) {
  return { functionName: name, scriptId: '0', url, lineNumber: line - 1, columnNumber: 0 };
}
