/* Recognising ChatML: the template's normal form is compared with the few forms that are known. */
#include "text/chatml.h"

#include <string.h>

#define LITERAL     TEMPLATE_LITERAL
#define LITERAL_END TEMPLATE_END
#define SYSTEM_ROLE LITERAL "system" LITERAL_END

/* Takes word off the front of *s. */
static bool form_eat(struct str *s, const char *word) {
    size_t n = strlen(word);
    if (s->n < n || memcmp(s->p, word, n) != 0) return false;
    s->p += n;
    s->n -= n;
    return true;
}

/* A system message as the output of an if. */
static bool form_system(struct str *s, struct str *system) {
    const char *end = memchr(s->p, LITERAL_END[0], s->n);
    if (!end) return false;
    *system = (struct str){s->p, (size_t)(end - s->p)};
    s->n -= system->n;
    s->p = end;
    return form_eat(s, LITERAL_END "{%endif%}");
}

/* The forms that are ChatML. */
static bool form_match(struct chatml *c, struct str s) {
    form_eat(&s, "{%if not add_generation_prompt is defined%}"
                 "{%set add_generation_prompt = false%}{%endif%}");
    c->begin = form_eat(&s, "[bos_token]");
    if (form_eat(&s, "{%if messages[0].role != " SYSTEM_ROLE "%}" LITERAL) &&
        !form_system(&s, &c->system))
        return false;
    if (!form_eat(&s, "{%for message in messages%}")) return false;
    if (c->system.n == 0 &&
        form_eat(&s, "{%if loop.first and messages[0].role != " SYSTEM_ROLE "%}" LITERAL) &&
        !form_system(&s, &c->system)) {
        return false;
    }
    return form_eat(&s, LITERAL CHATML_START LITERAL_END "[message.role]" LITERAL "\n" LITERAL_END
                                                         "[message.content]" LITERAL CHATML_END
                                                         "\n" LITERAL_END "{%endfor%}") &&
           form_eat(&s, "{%if add_generation_prompt%}" LITERAL CHATML_START
                        "assistant\n" LITERAL_END "{%endif%}") &&
           s.n == 0;
}

bool chatml_match(struct chatml *out, struct str form) {
    *out = (struct chatml){false, {"", 0}};
    if (form_match(out, form)) return true;
    *out = (struct chatml){false, {"", 0}};
    return false;
}
