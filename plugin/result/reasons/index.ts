/** All checks of a verdict that are made when the run is over, in any order: the catalogue has that of the reasons. */
import { accounts } from './accounts.ts';
import { broadcasts } from './broadcasts.ts';
import type { Check } from './check.ts';
import { connections } from './connections.ts';
import { copies } from './copies.ts';
import { generator } from './generator.ts';
import { limits } from './limits.ts';
import { machine } from './machine.ts';
import { memory } from './memory.ts';
import { ownEvent } from './own-event.ts';
import { throttling } from './throttling.ts';
import { times } from './times.ts';
import { workers } from './workers.ts';

export const CHECKS: Check[] = [
  ...accounts,
  ...machine,
  ...throttling,
  ...generator,
  ...workers,
  ...limits,
  ...connections,
  ...broadcasts,
  ...ownEvent,
  ...copies,
  ...times,
  ...memory,
];
