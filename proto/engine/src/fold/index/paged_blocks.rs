//! Blocks of bytes that only grow, in large pages: a block of its own for each tick of a day would
//! scatter small allocations among those of the fold, and freed memory would stay in the process.

use std::collections::BTreeMap;
use std::ops::Range;

/// Capacity of a page in bytes; a longer piece has a page of its own.
const PAGE_BYTES: usize = 1 << 20;

/// Bytes that were appended to one block in one go, or next to each other.
#[derive(Debug, Clone, Copy)]
struct Piece {
    page: u32,
    start: u32,
    length: u32,
}

/// Blocks by number.
#[derive(Debug, Clone, Default)]
pub(super) struct PagedBlocks {
    pages: Vec<Vec<u8>>,
    /// By block, then in the order of appending.
    pieces: BTreeMap<(u32, u32), Piece>,
    appended: u32,
    /// The block that was appended to last: its last piece ends the last page.
    open: Option<(u32, u32)>,
}

impl PagedBlocks {
    /// Appends whole entries to a block.
    pub(super) fn append(&mut self, block: u32, bytes: &[u8]) {
        let fits = |page: &Vec<u8>| page.capacity() - page.len() >= bytes.len();
        let has_room = self.pages.last().is_some_and(fits);
        if !has_room {
            self.pages
                .push(Vec::with_capacity(PAGE_BYTES.max(bytes.len())));
        }
        let page = self.pages.len() - 1;
        let start = self.pages[page].len();
        self.pages[page].extend_from_slice(bytes);
        let open = self.open.filter(|(last, _)| *last == block && has_room);
        if let Some(piece) = open.and_then(|key| self.pieces.get_mut(&key)) {
            piece.length += narrow(bytes.len());
            return;
        }
        let key = (block, self.appended);
        self.appended += 1;
        let piece = Piece {
            page: narrow(page),
            start: narrow(start),
            length: narrow(bytes.len()),
        };
        self.pieces.insert(key, piece);
        self.open = Some(key);
    }

    /// The pieces of the blocks in a range, by block, and those of a block in order.
    pub(super) fn pieces(&self, blocks: Range<u32>) -> impl Iterator<Item = (u32, &[u8])> {
        let keys = match blocks.is_empty() {
            true => (0, 0)..(0, 0),
            false => (blocks.start, 0)..(blocks.end, 0),
        };
        let pieces = self.pieces.range(keys);
        pieces.map(|(&(block, _), piece)| (block, self.bytes_of(*piece)))
    }

    /// All pieces, as [`PagedBlocks::pieces`] orders them.
    pub(super) fn all(&self) -> impl Iterator<Item = (u32, &[u8])> {
        let pieces = self.pieces.iter();
        pieces.map(|(&(block, _), piece)| (block, self.bytes_of(*piece)))
    }

    fn bytes_of(&self, piece: Piece) -> &[u8] {
        let (start, length) = (piece.start as usize, piece.length as usize);
        &self.pages[piece.page as usize][start..start + length]
    }

    /// The last block.
    pub(super) fn last(&self) -> Option<u32> {
        self.pieces.last_key_value().map(|(&(block, _), _)| block)
    }

    /// Number of bytes in all blocks.
    pub(super) fn len(&self) -> usize {
        self.pages.iter().map(Vec::len).sum()
    }
}

/// A number of pages, or of bytes in one of them: memory ends long before 2^32 of either.
fn narrow(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Mostly entries of a tick, and some that leave no room for the next in a page.
    fn length() -> impl Strategy<Value = usize> {
        prop_oneof![9 => 1..100_usize, 1 => PAGE_BYTES / 2..PAGE_BYTES + 2]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Broken if bytes are lost, change their block, or lose their order.
        #[test]
        fn a_block_is_what_was_appended_to_it(
            appended in prop::collection::vec((0_u32..5, length()), 0..40),
        ) {
            let mut blocks = PagedBlocks::default();
            let mut expected: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
            for (number, (block, length)) in appended.into_iter().enumerate() {
                let bytes = vec![u8::try_from(number).expect("few"); length];
                blocks.append(block, &bytes);
                expected.entry(block).or_default().extend(&bytes);
            }
            let mut found: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
            blocks.all().for_each(|(block, piece)| found.entry(block).or_default().extend(piece));
            prop_assert_eq!(blocks.len(), expected.values().map(Vec::len).sum::<usize>());
            prop_assert_eq!(blocks.last(), expected.keys().last().copied());
            prop_assert_eq!(&found, &expected);
            for (block, bytes) in expected {
                let of_block: Vec<u8> =
                    blocks.pieces(block..block + 1).flat_map(|(_, piece)| piece.to_vec()).collect();
                prop_assert_eq!(of_block, bytes);
            }
        }
    }
}
