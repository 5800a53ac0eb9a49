"""The lessons, each of which builds on those before it."""

from pages.lessons_parts import (
    covering,
    crossing,
    doubt,
    mass,
    ridge,
    scale,
    settled,
    threshold,
    uniqueness,
    weights,
    yes_no,
)

LESSONS = {
    lesson.key: lesson
    for lesson in (
        uniqueness.LESSON,
        scale.LESSON,
        covering.LESSON,
        crossing.LESSON,
        mass.LESSON,
        threshold.LESSON,
        weights.LESSON,
        yes_no.LESSON,
        ridge.LESSON,
        settled.LESSON,
        doubt.LESSON,
    )
}
