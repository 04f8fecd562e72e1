/** The zoo: servers that lie or fail, each in one way, for whole runs. */
import { connections } from './connections.ts';
import { copies } from './copies.ts';
import type { Member } from './member.ts';
import { messages } from './messages.ts';
import { sources } from './sources.ts';
import { workers } from './workers.ts';

export const ZOO: Member[] = [...connections, ...copies, ...messages, ...workers, ...sources];
