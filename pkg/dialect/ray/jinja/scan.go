package jinja

import (
	"fmt"
	"sync"

	"github.com/nikolalohinski/gonja/v2/config"
	"github.com/nikolalohinski/gonja/v2/tokens"
)

// dialect is Jinja2's own delimiters and defaults.
func dialect() *config.Config { return config.New() }

// blank is a lexer to copy: to make one compiles its regular expressions.
var blank = sync.OnceValue(func() *tokens.Lexer { return tokens.NewLexer("", dialect()) })

// scan reads the tokens of a template. Each has at least a byte of the text, but for those at the ends of tags: a lexer that
// gives more loops, as the library's does at "{{6.é}}", and is ended.
func scan(text string) ([]*tokens.Token, error) {
	lexer := *blank()
	lexer.Input = text
	lexer.Tokens = make(chan *tokens.Token, 64)
	go lex(&lexer)
	var list []*tokens.Token
	for t := range lexer.Tokens {
		if t.Type == tokens.Error || len(list) > 2*len(text)+64 {
			hangUp(&lexer)
			return nil, refused(t, text)
		}
		list = append(list, t)
	}
	if len(list) == 0 || list[len(list)-1].Type != tokens.EOF {
		return nil, &Error{Message: "the template engine cannot read this template"}
	}
	return list, bounded(list)
}

// lex gives tokens until the text ends, or the one who takes them hangs up: then the next one panics. So do some texts.
func lex(lexer *tokens.Lexer) {
	defer func() {
		if recover() != nil {
			hangUp(lexer)
		}
	}()
	lexer.Run()
}

// hangUp closes the channel of tokens, which the other side may have done already.
func hangUp(lexer *tokens.Lexer) {
	defer func() { _ = recover() }()
	close(lexer.Tokens)
}

func refused(t *tokens.Token, text string) error {
	line, _ := tokens.ReadablePosition(min(max(t.Pos, 0), len(text)), text)
	if t.Type == tokens.Error {
		return &Error{line, t.Val}
	}
	return &Error{line, "the template engine cannot read this expression"}
}

// counter is what bounded has seen of the tag that it is in.
type counter struct{ operands, depth, statements int }

// bounded refuses expressions that are long or deep, and what multiplies texts, before anything recursive sees them.
func bounded(list []*tokens.Token) error {
	var c counter
	for i, t := range list {
		switch t.Type {
		case tokens.VariableBegin, tokens.BlockBegin:
			c.operands, c.depth = 0, 0
		case tokens.LeftParenthesis, tokens.LeftBracket, tokens.LeftBrace:
			c.depth++
		case tokens.RightParenthesis, tokens.RightBracket, tokens.RightBrace:
			c.depth--
		case tokens.Name:
			c.statements += nests(list, i)
		case tokens.Multiply:
			if !numeric(list[:i]) {
				return &Error{t.Line, "only numbers are multiplied here: write (a | int) * b"}
			}
		}
		if t.Type != tokens.Data && t.Type != tokens.Whitespace {
			c.operands++
		}
		if c.operands > maxOperands || c.depth > maxNesting || c.statements > maxNesting {
			return &Error{t.Line, fmt.Sprintf("found an expression of more than %d parts, or more than %d levels of nesting", maxOperands, maxNesting)}
		}
	}
	return nil
}

// nests tells by how much a name changes the depth of statements.
func nests(list []*tokens.Token, i int) int {
	for i--; i >= 0 && list[i].Type == tokens.Whitespace; i-- {
	}
	if i < 0 || list[i].Type != tokens.BlockBegin {
		return 0
	}
	switch name := next(list, i); name {
	case "if", "for":
		return 1
	case "endif", "endfor":
		return -1
	}
	return 0
}

func next(list []*tokens.Token, i int) string {
	for i++; i < len(list); i++ {
		if list[i].Type != tokens.Whitespace {
			return list[i].Val
		}
	}
	return ""
}

// numeric reports whether what ends before a "*" is surely a number: a literal, or the filter int, float or length on a
// name, an item or a literal, perhaps in parentheses.
func numeric(before []*tokens.Token) bool {
	var last []*tokens.Token
	for i := len(before) - 1; i >= 0 && len(last) < maxOperands; i-- {
		if before[i].Type != tokens.Whitespace {
			last = append(last, before[i])
		}
	}
	switch {
	case len(last) < 2:
		return false
	case last[0].Type == tokens.Integer, last[0].Type == tokens.Float:
		return last[1].Type != tokens.Dot
	case last[0].Type == tokens.RightParenthesis:
		return len(last) > 2 && filtered(last[1], last[2]) && simple(last[1:])
	default:
		return filtered(last[0], last[1])
	}
}

func filtered(name, pipe *tokens.Token) bool {
	return pipe.Type == tokens.Pipe && (name.Val == "int" || name.Val == "float" || name.Val == "length")
}

// simple reports whether what is read backwards to the opening parenthesis has no operator that a filter could bind
// closer than.
func simple(backwards []*tokens.Token) bool {
	for _, t := range backwards {
		switch t.Type {
		case tokens.LeftParenthesis:
			return true
		case tokens.Name, tokens.Pipe, tokens.String, tokens.Integer, tokens.Dot, tokens.LeftBracket, tokens.RightBracket:
		default:
			return false
		}
	}
	return false
}
