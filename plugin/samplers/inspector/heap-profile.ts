/**
 * V8's sampling heap profiler in a process that contains nothing of ours: it notes the call stacks of what is allocated, and forgets what
 * is freed. It runs in a session inside the process, so that the inspector need not stay open meanwhile.
 */
import { z } from 'zod';
import { LARGEST_FIGURE } from '../../../protocol/link/bounded-schemas.ts';

/** Between two samples, on average. More memory per sample would be less exact, and less costs more CPU per allocation. */
export const SAMPLING_INTERVAL_BYTES = 2048;
/** The process ends the profile by itself if this run ends without doing so. */
const LONGEST_MS = 30 * 60_000;
const MAX_NODES = 50_000;
const MAX_TEXT = 4096;

const KEY = "Symbol.for('socketio-capacity.heap-profile')";

/** Evaluates to an empty text, or to why it does not start. Each expression runs in the process, and throws nothing later. */
export const START = `(() => {
  // Its sessions inside the process end Deno (2.9.6).
  if (globalThis.Deno) return 'only Node can';
  const { Session } = process.getBuiltinModule?.('node:inspector') ?? require('node:inspector');
  process[${KEY}]?.end();
  const session = new Session();
  session.connect();
  const end = () => {
    clearTimeout(timer);
    delete process[${KEY}];
    try { session.disconnect(); } catch {}
  };
  const timer = setTimeout(end, ${LONGEST_MS});
  timer.unref();
  let failure = '';
  const options = { samplingInterval: ${SAMPLING_INTERVAL_BYTES} };
  session.post('HeapProfiler.startSampling', options, (error) => { failure = error ? String(error.message) : ''; });
  process[${KEY}] = { session, end };
  return failure;
})()`;

export const END = `process[${KEY}]?.end()`;

/** Evaluates to the call tree as a list in JSON, in which parents come before their children. */
export const TAKE = `(() => {
  const { session, end } = process[${KEY}];
  let head;
  session.post('HeapProfiler.collectGarbage');
  session.post('HeapProfiler.getSamplingProfile', (error, answer) => { head = answer?.profile.head; });
  const nodes = [];
  const open = [[head, -1]];
  for (const [{ callFrame, selfSize, children }, parent] of open) {
    const { functionName, url, lineNumber } = callFrame;
    for (const child of children) open.push([child, nodes.length]);
    nodes.push({ name: functionName.slice(0, ${MAX_TEXT}), url: url.slice(0, ${MAX_TEXT}), line: lineNumber + 1, bytes: selfSize, parent });
    if (nodes.length > ${MAX_NODES}) break;
  }
  end();
  return JSON.stringify({ folder: process.cwd(), nodes });
})()`;

const nodeSchema = z.object({
  /** Of the function; empty for one without a name. */
  name: z.string().max(MAX_TEXT),
  /** Of its file; empty for native code. */
  url: z.string().max(MAX_TEXT),
  /** Where the function begins. */
  line: z.int().nonnegative(),
  /** Allocated in it and still alive, without what it called. */
  bytes: z.number().nonnegative().lte(LARGEST_FIGURE),
  /** Index of the caller; −1 for the root. */
  parent: z.int().gte(-1),
});

const profileSchema = z
  .object({ folder: z.string().max(MAX_TEXT), nodes: z.array(nodeSchema).min(1).max(MAX_NODES) })
  .refine(({ nodes }) => nodes.every(({ parent }, index) => parent < index), 'a caller comes after what it called');

export type HeapProfile = z.infer<typeof profileSchema>;

/** @param text value of `TAKE` @throws Error for anything else */
export function parseHeapProfile(text: unknown): HeapProfile {
  return profileSchema.parse(JSON.parse(String(text)));
}

/** @returns the text of a `.heapprofile`, which Chrome's DevTools and speedscope open; of several processes under one root */
export function heapProfileText(profiles: HeapProfile[]): string {
  const root = treeNode({ name: '(root)', url: '', line: 0, bytes: 0, parent: -1 }, 1);
  let id = 1;
  for (const { nodes } of profiles) {
    const all = nodes.map((node) => treeNode(node, ++id));
    for (const [index, { parent }] of nodes.entries()) (all[parent] ?? root).children.push(all[index] as TreeNode);
  }
  return JSON.stringify({ head: root, samples: [] });
}

type TreeNode = ReturnType<typeof treeNode>;

function treeNode({ name, url, line, bytes }: HeapProfile['nodes'][number], id: number) {
  const callFrame = { functionName: name, scriptId: '0', url, lineNumber: line - 1, columnNumber: 0 };
  return { callFrame, selfSize: bytes, id, children: [] as { selfSize: number }[] };
}
