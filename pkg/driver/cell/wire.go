package cell

import (
	"encoding/binary"
	"errors"
	"time"
)

// The frames between a program and its cell.
const (
	frameReady   = 'v' // cell: the view is made; or the text of an error
	frameRun     = 'r' // program: a Command
	frameStarted = 's' // cell: the command runs; or the error number and text
	frameTerm    = 't' // program: ask everything to end
	frameKill    = 'k' // program: kill everything
	frameExit    = 'x' // cell: nothing of the command is left
)

// maxFrame bounds a frame, in bytes: arguments and environment of a process have far less.
const maxFrame = 64 << 20

// Tree is a directory or file of this machine that a command sees.
type Tree struct {
	Source   string
	Target   string
	Writable bool
	Foreign  bool // it belongs to the machine and not to the program: its owners stay as they are
}

// Limit is a resource limit of the kernel for each process of a command.
type Limit struct{ Resource, Soft, Hard uint64 }

// Command is what a cell runs.
type Command struct {
	Program string // absolute, or relative to Dir
	Args    []string
	Env     []string
	Dir     string
	Home    string // what the account's entry in the list of users says
	Trees   []Tree
	Limits  []Limit
}

// Exit says how a command ended.
type Exit struct {
	Status    uint32 // as wait4 gives it
	Started   time.Time
	Ended     time.Time
	User      time.Duration
	System    time.Duration
	MaxRSS    int64 // kilobytes
	Leftovers int   // processes that outlived the command and were killed
	Dirty     bool  // something is left that only the end of the cell removes
}

// encoder appends the fields of a frame.
type encoder struct{ b []byte }

func (e *encoder) number(n uint64)  { e.b = binary.AppendUvarint(e.b, n) }
func (e *encoder) flag(f bool)      { e.b = append(e.b, map[bool]byte{true: 1}[f]) }
func (e *encoder) text(s string)    { e.number(uint64(len(s))); e.b = append(e.b, s...) }
func (e *encoder) time(t time.Time) { e.number(uint64(t.UnixNano())) }
func (e *encoder) list(texts []string) {
	e.number(uint64(len(texts)))
	for _, s := range texts {
		e.text(s)
	}
}

// decoder takes the fields of a frame in the same order. The first error stays.
type decoder struct {
	b   []byte
	err error
}

var errFrame = errors.New("cannot read a frame: it ends early")

func (d *decoder) number() uint64 {
	n, size := binary.Uvarint(d.b)
	if size <= 0 {
		d.err, d.b = errFrame, nil
		return 0
	}
	d.b = d.b[size:]
	return n
}

func (d *decoder) flag() bool {
	if len(d.b) == 0 {
		d.err = errFrame
		return false
	}
	f := d.b[0] == 1
	d.b = d.b[1:]
	return f
}

func (d *decoder) text() string {
	n := d.number()
	if n > uint64(len(d.b)) {
		d.err, d.b = errFrame, nil
		return ""
	}
	s := string(d.b[:n])
	d.b = d.b[n:]
	return s
}

func (d *decoder) time() time.Time { return time.Unix(0, int64(d.number())) }

// count is the length of a list whose entries have at least one byte each.
func (d *decoder) count() int {
	n := d.number()
	if n > uint64(len(d.b)) {
		d.err, d.b = errFrame, nil
		return 0
	}
	return int(n)
}

func (d *decoder) list() []string {
	list := make([]string, d.count())
	for i := range list {
		list[i] = d.text()
	}
	return list
}

func (c Command) encode() []byte {
	e := encoder{}
	e.text(c.Program)
	e.list(c.Args)
	e.list(c.Env)
	e.text(c.Dir)
	e.text(c.Home)
	e.number(uint64(len(c.Trees)))
	for _, t := range c.Trees {
		e.text(t.Source)
		e.text(t.Target)
		e.flag(t.Writable)
	}
	e.number(uint64(len(c.Limits)))
	for _, l := range c.Limits {
		e.number(l.Resource)
		e.number(l.Soft)
		e.number(l.Hard)
	}
	return e.b
}

func decodeCommand(b []byte) (Command, error) {
	d := decoder{b: b}
	c := Command{Program: d.text(), Args: d.list(), Env: d.list(), Dir: d.text(), Home: d.text()}
	c.Trees = make([]Tree, d.count())
	for i := range c.Trees {
		c.Trees[i] = Tree{Source: d.text(), Target: d.text(), Writable: d.flag()}
	}
	c.Limits = make([]Limit, d.count())
	for i := range c.Limits {
		c.Limits[i] = Limit{Resource: d.number(), Soft: d.number(), Hard: d.number()}
	}
	return c, d.err
}

func (x Exit) encode() []byte {
	e := encoder{}
	e.number(uint64(x.Status))
	e.time(x.Started)
	e.time(x.Ended)
	e.number(uint64(x.User))
	e.number(uint64(x.System))
	e.number(uint64(x.MaxRSS))
	e.number(uint64(x.Leftovers))
	e.flag(x.Dirty)
	return e.b
}

func decodeExit(b []byte) (Exit, error) {
	d := decoder{b: b}
	x := Exit{
		Status: uint32(d.number()), Started: d.time(), Ended: d.time(), User: time.Duration(d.number()), System: time.Duration(d.number()),
		MaxRSS: int64(d.number()), Leftovers: int(d.number()), Dirty: d.flag(),
	}
	return x, d.err
}

// frame is a header and what follows it.
func frame(kind byte, payload []byte) []byte {
	b := make([]byte, headerSize, headerSize+len(payload))
	b[0] = kind
	binary.LittleEndian.PutUint32(b[1:], uint32(len(payload)))
	return append(b, payload...)
}

const headerSize = 5

// takeFrame takes a frame off what was read; ok is false while it has not come as a whole.
func takeFrame(b []byte) (kind byte, body, rest []byte, ok bool, err error) {
	if len(b) < headerSize {
		return 0, nil, b, false, nil
	}
	n := binary.LittleEndian.Uint32(b[1:])
	if n > maxFrame {
		return 0, nil, b, false, errFrame
	}
	end := headerSize + int(n)
	if len(b) < end {
		return 0, nil, b, false, nil
	}
	return b[0], b[headerSize:end:end], b[end:], true, nil
}
