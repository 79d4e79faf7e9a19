// Decodes histograms of a report: HdrHistogram V2, deflated, in base64.
// Histograms are never merged or averaged here.

const V2_COOKIE = 0x1c849303;
const V2_DEFLATE_COOKIE = 0x1c849304;
const HEAD_BYTES = 40;

/** Counts by value: `upTo` is the highest value (µs) of a bucket. */
export interface Buckets {
  upTo: number[];
  counts: number[];
  total: number;
}

export async function decode(base64: string): Promise<Buckets> {
  const empty = { upTo: [], counts: [], total: 0 };
  if (base64 === "") return empty;
  const packed = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const view = new DataView(packed.buffer);
  if (withoutWordSize(view.getInt32(0)) !== V2_DEFLATE_COOKIE)
    throw new Error("not an HdrHistogram V2");
  const length = view.getInt32(4);
  return read(await inflate(packed.subarray(8, 8 + length)));
}

async function inflate(packed: Uint8Array<ArrayBuffer>): Promise<DataView> {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new DataView(await new Response(stream).arrayBuffer());
}

/** The cookie without the nibble that holds the word size: V2 has words of any size. */
function withoutWordSize(cookie: number): number {
  return cookie & ~0xf0;
}

function read(view: DataView): Buckets {
  if (withoutWordSize(view.getInt32(0)) !== withoutWordSize(V2_COOKIE))
    throw new Error("not an HdrHistogram V2");
  const end = HEAD_BYTES + view.getInt32(4);
  const precision = view.getInt32(12);
  const lowest = Number(view.getBigInt64(16));
  const layout = layoutOf(lowest, precision);
  const buckets: Buckets = { upTo: [], counts: [], total: 0 };
  let at = HEAD_BYTES;
  let index = 0;
  while (at < end) {
    const [word, next] = readWord(view, at, end);
    at = next;
    if (word < 0) {
      index -= word; // a run of empty buckets
    } else {
      if (word > 0) {
        buckets.upTo.push(highestValue(index, layout));
        buckets.counts.push(word);
        buckets.total += word;
      }
      index += 1;
    }
  }
  return buckets;
}

interface Layout {
  unit: number;
  half: number;
  halfBits: number;
}

function layoutOf(lowest: number, precision: number): Layout {
  const unit = Math.floor(Math.log2(lowest));
  const bits = Math.ceil(Math.log2(2 * 10 ** precision));
  return { unit, half: 2 ** (bits - 1), halfBits: bits - 1 };
}

/** The highest value of the bucket at an index. */
function highestValue(index: number, { unit, half, halfBits }: Layout): number {
  let bucket = Math.floor(index / 2 ** halfBits) - 1;
  let sub = (index % half) + half;
  if (bucket < 0) {
    bucket = 0;
    sub -= half;
  }
  const size = 2 ** (bucket + unit);
  return sub * size + size - 1;
}

/** Reads a zigzag-encoded LEB128 word of at most nine bytes. */
function readWord(view: DataView, from: number, end: number): [number, number] {
  let value = 0n;
  let at = from;
  for (let shift = 0n; at < end; shift += 7n) {
    const byte = view.getUint8(at);
    at += 1;
    const last = at - from === 9;
    value |= BigInt(last ? byte : byte & 0x7f) << shift;
    if (last || byte < 0x80) break;
  }
  return [Number((value >> 1n) ^ -(value & 1n)), at];
}

/** Nearest-rank quantile: the smallest value (µs) that a share of the counts does not exceed. */
export function quantile(buckets: Buckets, share: number): number | null {
  const wanted = Math.max(1, Math.ceil(share * buckets.total));
  let seen = 0;
  for (let i = 0; i < buckets.counts.length; i += 1) {
    seen += buckets.counts[i]!;
    if (seen >= wanted) return buckets.upTo[i]!;
  }
  return null;
}

/** Points of a percentile curve: x is 1 / (1 − share), see `PercentileCurve`. */
export function percentileCurve(buckets: Buckets): { x: number[]; us: number[] } {
  const points = { x: [] as number[], us: [] as number[] };
  let seen = 0;
  for (let i = 0; i < buckets.counts.length; i += 1) {
    seen += buckets.counts[i]!;
    const above = (buckets.total - seen) / buckets.total;
    // The maximum belongs to one call: the curve ends half a call before 100 %.
    points.x.push(1 / Math.max(above, 0.5 / buckets.total));
    points.us.push(buckets.upTo[i]!);
  }
  return points;
}
