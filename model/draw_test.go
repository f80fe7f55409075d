package model

import "pgregory.net/rapid"

func drawTime(t *rapid.T, what string) Time {
	return Time(rapid.Int64Range(0, int64(Millisecond)).Draw(t, what))
}

// drawChunks cuts p equally, or each shard into chunks of any sizes.
func drawChunks(t *rapid.T, p *Problem) []Chunk {
	space, shards := p.Space(), p.Shards()
	if rapid.Bool().Draw(t, "equal") {
		k := 1
		if p.Collective.Kind != Custom {
			k = rapid.IntRange(1, int(min(4, space/int64(shards)))).Draw(t, "chunks a shard")
		}
		return p.Cut(k * shards)
	}
	var chunks []Chunk
	for s := range shards {
		at, end := part(space, int64(s), int64(shards)), part(space, int64(s)+1, int64(shards))
		for at < end {
			size := end - at
			if p.Collective.Kind != Custom {
				size = rapid.Int64Range(1, end-at).Draw(t, "chunk size")
			}
			if len(chunks) > 40 {
				size = end - at
			}
			chunks = append(chunks, Chunk{at, size})
			at += size
		}
	}
	return chunks
}
