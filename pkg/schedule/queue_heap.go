package schedule

// tasks is a heap: the highest priority first, then the oldest.
type tasks []*task

func (h tasks) Len() int { return len(h) }
func (h tasks) Less(i, j int) bool {
	if a, b := h[i].spec.priority, h[j].spec.priority; a != b {
		return a > b
	}
	return h[i].seq < h[j].seq
}
func (h tasks) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *tasks) Push(x any)   { *h = append(*h, x.(*task)) }
func (h *tasks) Pop() any {
	last := len(*h) - 1
	out := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return out
}

// lanes is a heap: the lane with the highest priority at its head first, then the one served longest ago.
type lanes []*lane

func (h lanes) Len() int { return len(h) }
func (h lanes) Less(i, j int) bool {
	a, b := h[i], h[j]
	if x, y := a.tasks[0].spec.priority, b.tasks[0].spec.priority; x != y {
		return x > y
	}
	if a.turn != b.turn {
		return a.turn < b.turn
	}
	return a.tasks[0].seq < b.tasks[0].seq
}

func (h lanes) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *lanes) Push(x any) {
	l := x.(*lane)
	l.index = len(*h)
	*h = append(*h, l)
}

func (h *lanes) Pop() any {
	last := len(*h) - 1
	out := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	out.index = -1
	return out
}
