package syntax

// A token is the kind of a lexical token.
type token int8

const (
	tEOF token = iota
	tError
	tNewline
	tIndent
	tDedent

	tName
	tInt
	tFloat
	tImag
	tString

	tPlus // operators and delimiters
	tMinus
	tStar
	tSlash
	tSlashSlash
	tPercent
	tStarStar
	tAt
	tShl
	tShr
	tAmp
	tPipe
	tCaret
	tTilde
	tEqEq
	tNotEq
	tLess
	tLessEq
	tGreater
	tGreaterEq
	tWalrus
	tDot
	tEllipsis
	tComma
	tColon
	tSemicolon
	tArrow
	tBang
	tLParen
	tRParen
	tLBracket
	tRBracket
	tLBrace
	tRBrace
	tAssign
	tPlusAssign // augmented assignments
	tMinusAssign
	tStarAssign
	tSlashAssign
	tSlashSlashAssign
	tPercentAssign
	tStarStarAssign
	tAtAssign
	tShlAssign
	tShrAssign
	tAmpAssign
	tPipeAssign
	tCaretAssign

	tAnd // keywords
	tAs
	tAssert
	tAsync
	tAwait
	tBreak
	tClass
	tContinue
	tDef
	tDel
	tElif
	tElse
	tExcept
	tFalse
	tFinally
	tFor
	tFrom
	tGlobal
	tIf
	tImport
	tIn
	tIs
	tLambda
	tNone
	tNonlocal
	tNot
	tOr
	tPass
	tRaise
	tReturn
	tTrue
	tTry
	tWhile
	tWith
	tYield

	numTokens
)

// tokenNames are the display names; operators and keywords are their own spelling.
var tokenNames = [numTokens]string{
	tEOF: "end of file", tError: "error", tNewline: "end of line", tIndent: "indent", tDedent: "unindent",
	tName: "name", tInt: "number", tFloat: "number", tImag: "number", tString: "string",
	tPlus: "+", tMinus: "-", tStar: "*", tSlash: "/", tSlashSlash: "//", tPercent: "%", tStarStar: "**", tAt: "@",
	tShl: "<<", tShr: ">>", tAmp: "&", tPipe: "|", tCaret: "^", tTilde: "~",
	tEqEq: "==", tNotEq: "!=", tLess: "<", tLessEq: "<=", tGreater: ">", tGreaterEq: ">=",
	tWalrus: ":=", tDot: ".", tEllipsis: "...", tComma: ",", tColon: ":", tSemicolon: ";", tArrow: "->", tBang: "!",
	tLParen: "(", tRParen: ")", tLBracket: "[", tRBracket: "]", tLBrace: "{", tRBrace: "}",
	tAssign: "=", tPlusAssign: "+=", tMinusAssign: "-=", tStarAssign: "*=", tSlashAssign: "/=", tSlashSlashAssign: "//=",
	tPercentAssign: "%=", tStarStarAssign: "**=", tAtAssign: "@=", tShlAssign: "<<=", tShrAssign: ">>=", tAmpAssign: "&=",
	tPipeAssign: "|=", tCaretAssign: "^=",
	tAnd: "and", tAs: "as", tAssert: "assert", tAsync: "async", tAwait: "await", tBreak: "break", tClass: "class",
	tContinue: "continue", tDef: "def", tDel: "del", tElif: "elif", tElse: "else", tExcept: "except", tFalse: "False",
	tFinally: "finally", tFor: "for", tFrom: "from", tGlobal: "global", tIf: "if", tImport: "import", tIn: "in", tIs: "is",
	tLambda: "lambda", tNone: "None", tNonlocal: "nonlocal", tNot: "not", tOr: "or", tPass: "pass", tRaise: "raise",
	tReturn: "return", tTrue: "True", tTry: "try", tWhile: "while", tWith: "with", tYield: "yield",
}

var keywords = func() map[string]token {
	m := make(map[string]token)
	for t := tAnd; t < numTokens; t++ {
		m[tokenNames[t]] = t
	}
	return m
}()

// IsKeyword reports whether s is a reserved word of the language (soft keywords such as match are not).
func IsKeyword(s string) bool { _, ok := keywords[s]; return ok }

func (t token) isKeyword() bool { return t >= tAnd }

// String gives the display name as messages show it: spellings are quoted, kinds are not.
func (t token) String() string {
	if t < tPlus {
		return tokenNames[t]
	}
	return "'" + tokenNames[t] + "'"
}

// startsExpr tells the tokens that an expression can begin with.
func (t token) startsExpr() bool {
	switch t {
	case tName, tInt, tFloat, tImag, tString, tPlus, tMinus, tTilde, tEllipsis, tLParen, tLBracket, tLBrace,
		tNot, tLambda, tAwait, tNone, tTrue, tFalse:
		return true
	}
	return false
}

// startsOnlyStmt tells the keywords that begin a statement and can stand nowhere inside an expression.
func (t token) startsOnlyStmt() bool {
	switch t {
	case tAssert, tBreak, tClass, tContinue, tDef, tDel, tElif, tExcept, tFinally, tGlobal, tImport, tNonlocal, tPass, tRaise,
		tReturn, tTry, tWhile, tWith:
		return true
	}
	return false
}
