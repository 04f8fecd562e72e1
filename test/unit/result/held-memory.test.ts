import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { heldDoubt } from '../../../plugin/result/memory/doubts.ts';

const MB = 1024 * 1024;

/** MB in V8's heap and outside of it, at rest; the process has 60 MB more. */
function layers(heap: number, external: number, unreturned = 0) {
  return {
    workerHeapUsed: heap * MB,
    workerExternal: external * MB,
    workerRss: (60 + heap + external + unreturned) * MB,
  };
}

const plateaus = [layers(10, 1), layers(30, 6), layers(50, 11)].map((one, index) => ({
  connections: 1000 * index,
  layers: one,
}));
const honest = { control: true, plateaus, afterBroadcasts: layers(51, 11), afterDisconnect: layers(11, 1, 40) };

describe('memory of workers that does not follow their connections', () => {
  it('raises no doubt where it is there while they are, whatever pages the process keeps', () => {
    assert.equal(heldDoubt(honest), undefined);
    assert.equal(heldDoubt({ ...honest, afterBroadcasts: undefined, afterDisconnect: undefined }), undefined);
  });

  it('was freed while all of them stayed', () => {
    assert.equal(heldDoubt({ ...honest, afterBroadcasts: layers(45, 1, 15) }), 'freed');
    assert.equal(heldDoubt({ ...honest, afterBroadcasts: layers(50, 6, 5) }), undefined, '10 % of it');
    // Of native memory, only the process knows.
    assert.equal(heldDoubt({ ...honest, afterBroadcasts: layers(50, 11, -20) }), 'freed');
  });

  it('was still there after all had left', () => {
    assert.equal(heldDoubt({ ...honest, afterDisconnect: layers(45, 1) }), 'kept');
    assert.equal(heldDoubt({ ...honest, afterDisconnect: layers(10, 40) }), 'kept');
    assert.equal(heldDoubt({ ...honest, afterDisconnect: layers(34, 1) }), undefined, 'half of it');
  });

  it('is not judged where nobody collects the garbage, or a few megabytes decide', () => {
    assert.equal(heldDoubt({ ...honest, control: false, afterDisconnect: layers(40, 1) }), undefined);
    const small = [layers(10, 1), layers(10.5, 1)].map((one, index) => ({ connections: index, layers: one }));
    assert.equal(
      heldDoubt({ ...honest, plateaus: small, afterBroadcasts: small[1]?.layers, afterDisconnect: layers(10.9, 1) }),
      undefined,
    );
  });
});
