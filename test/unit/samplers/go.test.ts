import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { isGoUrl, parseMemStats } from '../../../plugin/samplers/inspector/go.ts';

/** Heap profile of a Socket.IO server in Go with 400 connections. One of its 97 allocation places is kept. */
const RECORDED = readFileSync(new URL('../../fixtures/go-heap-profile.txt', import.meta.url), 'utf8');

describe('the heap profile of a Go server', () => {
  it('reads the heap, the stacks and the collection times from the heap profile of a Go server', () => {
    const { HeapAlloc, StackInuse, NumGC, LastGC, PauseEnd, PauseNs } = parseMemStats(RECORDED);
    assert.deepEqual([HeapAlloc, StackInuse, NumGC], [12_322_824, 4_620_288, 289]);
    assert.deepEqual([PauseNs.length, PauseEnd[(NumGC + 255) % 256]], [256, LastGC]);
  });

  const REFUSED: [text: string, answer: string, reason: RegExp][] = [
    ['a web page', '<!doctype html><title>Chat</title>', /not the text of a heap profile/],
    ['a profile without its end', RECORDED.slice(0, RECORDED.indexOf('# PauseEnd')), /does not end with the figures/],
    ['a profile of another runtime', RECORDED.slice(0, RECORDED.indexOf('# runtime')), /does not end with the figures/],
    ['an absurd profile', RECORDED.replace(/(?<=HeapAlloc = )\d+/, '9'.repeat(30)), /does not end with the figures/],
    ['a profile with an invalid time', RECORDED.replace(/(?<=LastGC = )\d+/, 'x'), /does not end with the figures/],
  ];
  for (const [text, answer, reason] of REFUSED) {
    it(`refuses ${text} in place of the heap profile of a Go server`, () =>
      assert.throws(() => parseMemStats(answer), reason));
  }
});

it('tells the pprof URL of a Go server from the URL of Node’s inspector', () => {
  const go = ['http://a:6060/debug/pprof', 'http://a/debug/pprof/heap?x=1', 'http://a/own', 'https://a'];
  const node = ['http://a:9229', 'http://a:9229/json/list', 'ws://a:9229/0b1c'];
  assert.deepEqual(
    go.map((url) => isGoUrl(new URL(url))),
    go.map(() => true),
  );
  assert.deepEqual(
    node.map((url) => isGoUrl(new URL(url))),
    node.map(() => false),
  );
});
