import assert from 'node:assert/strict';
import type { NetworkInterfaceInfo } from 'node:os';
import { it } from 'node:test';
import { hostInUrl, ownAddress } from '../../../plugin/conduct/hosts/join-token.ts';

const on = (address: string, internal = false) =>
  ({ address, internal, family: address.includes(':') ? 'IPv6' : 'IPv4' }) as NetworkInterfaceInfo;

it('other hosts can reach the conductor at its default address', () => {
  const lo = [on('127.0.0.1', true), on('::1', true)];
  for (const [address, ...eth0] of [
    ['10.0.0.5', on('fe80::1'), on('2001:db8::5'), on('10.0.0.5')],
    ['2001:db8::5', on('FE80::1'), on('2001:db8::5')],
    ['127.0.0.1', on('fe80::1')],
    ['127.0.0.1'],
  ] as const) {
    assert.equal(ownAddress({ lo, eth0: [...eth0] }), address);
  }
  assert.equal(hostInUrl('2001:db8::5'), '[2001:db8::5]');
});
