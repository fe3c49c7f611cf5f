package history

// ring is a queue of entries.
type ring struct {
	entries       []*Entry
	first, length int
}

// smallestRing is the initial capacity of a ring. Most clusters of a test suite have few requests.
const smallestRing = 64

func (q *ring) push(e *Entry) {
	if q.length == len(q.entries) {
		larger := make([]*Entry, max(smallestRing, 2*q.length))
		for i := range q.length {
			larger[i] = q.entry(i)
		}
		q.entries, q.first = larger, 0
	}
	q.entries[(q.first+q.length)%len(q.entries)] = e
	q.length++
}

func (q *ring) pop() *Entry {
	e := q.entries[q.first]
	q.entries[q.first] = nil
	q.first = (q.first + 1) % len(q.entries)
	q.length--
	return e
}

func (q *ring) entry(i int) *Entry { return q.entries[(q.first+i)%len(q.entries)] }
