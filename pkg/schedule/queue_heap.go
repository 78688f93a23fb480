package schedule

// tasks is a heap: the oldest first.
type tasks []*task

func (h tasks) Len() int           { return len(h) }
func (h tasks) Less(i, j int) bool { return h[i].seq < h[j].seq }
func (h tasks) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *tasks) Push(x any)        { *h = append(*h, x.(*task)) }
func (h *tasks) Pop() any {
	last := len(*h) - 1
	out := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return out
}

// ages is a heap of lanes that have something in them: the one with the oldest task first.
type ages []*lane

func (h ages) Len() int           { return len(h) }
func (h ages) Less(i, j int) bool { return h[i].tasks[0].seq < h[j].tasks[0].seq }
func (h ages) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].age, h[j].age = i, j
}

func (h *ages) Push(x any) {
	l := x.(*lane)
	l.age = len(*h)
	*h = append(*h, l)
}

func (h *ages) Pop() any {
	last := len(*h) - 1
	out := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	out.age = -1
	return out
}
