/**
 * Checks an invariant of the adapter's traffic: the interfaces between the worker hosts and Redis carry the bytes that
 * Redis counts, and the headers of each packet.
 */
import { findingValues } from '../../../protocol/result/findings.ts';
import { integerText } from '../../../report/text/format.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import { sum } from '../sums.ts';
import type { Violation } from './violation.ts';

/**
 * Bytes of headers per packet: IPv4 and TCP without options on an interface without Ethernet; Ethernet, IPv6 and TCP
 * with all options. Linux has 66 with IPv4.
 */
const HEADER_BYTES = { least: 40, most: 114 };
/** Allowed difference, for packets that were sent again and for the subtraction of the run's own requests. */
const MARGIN = { share: 0.05, bytes: 2000 };

/**
 * Returns the figures that include other traffic: those of the hosts' interfaces if they carried more than Redis counted,
 * and those of Redis if it counted more. Not checked for a Redis Cluster.
 */
export function impossibleTraffic({ redis }: Pick<Measurements, 'redis'>): Violation[] {
  const [node, ...others] = redis?.nodes ?? [];
  if (!node || others.length > 0 || !redis?.hosts) return [];
  const redisBytes = node.inBytes + node.outBytes;
  const wireBytes = sum(redis.hosts.map(({ inBytes, outBytes }) => inBytes + outBytes));
  const packets = sum(redis.hosts.map(({ inPackets, outPackets }) => inPackets + outPackets));
  const margin = MARGIN.share * redisBytes + MARGIN.bytes;
  const isTooLittle = wireBytes < redisBytes + packets * HEADER_BYTES.least - margin;
  if (!isTooLittle && wireBytes <= redisBytes + packets * HEADER_BYTES.most + margin) return [];
  const counted = `the worker hosts' interfaces to Redis carried ${integerText(wireBytes)} bytes in ${integerText(packets)} packets`;
  return [
    {
      figures: isTooLittle ? ['redis.inBytesPerCopy', 'redis.outBytesPerCopy'] : ['redis.hosts'],
      message: `${counted}, while Redis received and sent ${integerText(redisBytes)} bytes`,
      values: [
        ...findingValues({ 'on the interfaces': wireBytes, 'counted by Redis': redisBytes }, 'bytes'),
        ...findingValues({ packets }),
      ],
      fix: isTooLittle
        ? 'let only the measured workers use Redis'
        : 'let these interfaces carry only the traffic of Redis',
    },
  ];
}
