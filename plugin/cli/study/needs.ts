/** What the levels of a study need on this machine: a Node for the workers, a package of a WebSocket server. */

import type { Levels, Plan } from '../../../protocol/documents/study.ts';
import { CapacityError } from '../../../protocol/errors.ts';
import { combinationsOf, labelOf } from '../../../report/study/summarize.ts';
import { serverNode } from '../../../server/stack/server-node.ts';
import { checkWebSockets } from '../../../server/websockets/check.ts';
import { settingsOf } from './levels.ts';

/** @returns what is missing, by the label of the combination that needs it */
export async function unmetNeeds(plan: Plan): Promise<Map<string, CapacityError>> {
  const unmet = new Map<string, CapacityError>();
  for (const levels of combinationsOf(plan)) {
    const error = await unmetNeed(levels);
    if (error) unmet.set(labelOf(levels), error);
  }
  return unmet;
}

async function unmetNeed(levels: Levels): Promise<CapacityError | undefined> {
  const { CAPACITY_WEBSOCKETS: websockets, server } = levels;
  // A server that the study starts has its own needs, and says so itself.
  if (server !== undefined) return undefined;
  const env = { ...process.env, ...settingsOf(levels).env };
  try {
    const node = serverNode(env);
    if (websockets !== undefined) await checkWebSockets(node, String(websockets), env.CAPACITY_MODULES);
    return undefined;
  } catch (error) {
    if (error instanceof CapacityError) return error;
    throw error;
  }
}
