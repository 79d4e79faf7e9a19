// Reads the histograms of a report: HdrHistogram's V2 form, deflated, in base64.
// Only what a merged histogram holds is shown; none is ever merged or averaged here.

const V2_COOKIE = 0x1c849303;
const V2_DEFLATE_COOKIE = 0x1c849304;
const HEAD_BYTES = 40;

/** Counts by value: `upTo` is the highest value (µs) that counts as the same. */
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
  if (stripped(view.getInt32(0)) !== V2_DEFLATE_COOKIE) throw new Error("not a V2 histogram");
  const length = view.getInt32(4);
  return read(await inflate(packed.subarray(8, 8 + length)));
}

async function inflate(packed: Uint8Array<ArrayBuffer>): Promise<DataView> {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new DataView(await new Response(stream).arrayBuffer());
}

/** The low byte of the middle nibble says how wide a word is; V2 has words of any width. */
function stripped(cookie: number): number {
  return cookie & ~0xf0;
}

function read(view: DataView): Buckets {
  if (stripped(view.getInt32(0)) !== stripped(V2_COOKIE)) throw new Error("not a V2 histogram");
  const end = HEAD_BYTES + view.getInt32(4);
  const precision = view.getInt32(12);
  const lowest = Number(view.getBigInt64(16));
  const layout = shape(lowest, precision);
  const buckets: Buckets = { upTo: [], counts: [], total: 0 };
  let at = HEAD_BYTES;
  let index = 0;
  while (at < end) {
    const [word, next] = zigzag(view, at, end);
    at = next;
    if (word < 0) {
      index -= word; // that many empty ones
    } else {
      if (word > 0) {
        buckets.upTo.push(highest(index, layout));
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

function shape(lowest: number, precision: number): Layout {
  const unit = Math.floor(Math.log2(lowest));
  const bits = Math.ceil(Math.log2(2 * 10 ** precision));
  return { unit, half: 2 ** (bits - 1), halfBits: bits - 1 };
}

/** The highest value that falls into the place of a count. */
function highest(index: number, { unit, half, halfBits }: Layout): number {
  let bucket = Math.floor(index / 2 ** halfBits) - 1;
  let sub = (index % half) + half;
  if (bucket < 0) {
    bucket = 0;
    sub -= half;
  }
  const size = 2 ** (bucket + unit);
  return sub * size + size - 1;
}

/** One LEB128 word of at most nine bytes, zigzag. */
function zigzag(view: DataView, from: number, end: number): [number, number] {
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

/** The least value (µs) that this share of the counts does not exceed. */
export function at(buckets: Buckets, share: number): number | null {
  const wanted = Math.max(1, Math.ceil(share * buckets.total));
  let seen = 0;
  for (let i = 0; i < buckets.counts.length; i += 1) {
    seen += buckets.counts[i]!;
    if (seen >= wanted) return buckets.upTo[i]!;
  }
  return null;
}

/** Points of a percentile curve: x is 1 / (1 − share), so that each nine takes the same room. */
export function curve(buckets: Buckets): { x: number[]; us: number[] } {
  const points = { x: [] as number[], us: [] as number[] };
  let seen = 0;
  for (let i = 0; i < buckets.counts.length; i += 1) {
    seen += buckets.counts[i]!;
    const above = (buckets.total - seen) / buckets.total;
    // The last value is that of one call: the curve ends where half a call would be left.
    points.x.push(1 / Math.max(above, 0.5 / buckets.total));
    points.us.push(buckets.upTo[i]!);
  }
  return points;
}
