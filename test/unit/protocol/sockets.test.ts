import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { ESTABLISHED, LISTEN, listSockets } from '../../../protocol/base/machine/sockets.ts';
import { tempFolder } from '../../helpers/temp-folder.ts';

const HEADER =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode                                                     ';
const ROWS = 20_000;

/** Returns a row as the kernel writes it. */
function row(index: number, local: string, remote: string, state: string): string {
  return `${String(index).padStart(4)}: ${local} ${remote} ${state} 00000000:00000000 00:00000000 00000000  1000        0 ${900_000 + index} 1 0000000000000000 20 4 30 10 -1`;
}

/** Writes a table with a listener and many connections. */
function writeTable(folder: string): string {
  const listener = row(0, '0100007F:1F90', '00000000:0000', LISTEN);
  const connections = Array.from({ length: ROWS }, (_, index) =>
    row(index + 1, '0100007F:1F90', `0100007F:${(20_000 + index).toString(16).toUpperCase()}`, ESTABLISHED),
  );
  const path = join(folder, 'tcp');
  writeFileSync(path, `${[HEADER, listener, ...connections].join('\n')}\n`);
  return path;
}

it('the list of sockets contains the wanted rows of a long table, and the event loop continues in between', async (t) => {
  const path = writeTable(tempFolder(t));
  let turns = 0;
  const count = () => {
    turns++;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  const sockets = await listSockets(({ state }) => state === ESTABLISHED, [path, '/nowhere']);
  clearImmediate(next);
  assert.equal(sockets?.length, ROWS);
  assert.equal(new Set(sockets?.map(({ link }) => link)).size, ROWS);
  assert.deepEqual(sockets?.at(-1), {
    ...{ local: '0100007F:1F90', remote: '0100007F:9C3F', localAddress: '0100007F' },
    ...{ state: ESTABLISHED, uid: 1000, link: `socket:[${900_000 + ROWS}]` },
  });
  assert.ok(turns > 10, `${turns} turns of the event loop`);
  assert.equal(await listSockets(() => true, ['/nowhere']), undefined);
});
