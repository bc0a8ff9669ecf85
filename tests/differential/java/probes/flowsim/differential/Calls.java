package flowsim.differential;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Collection;
import java.util.Optional;
import java.util.StringJoiner;

/**
 * Runs many calls on one object for the price of one round trip.
 *
 * <p>A script has a line per call: the method and its arguments, separated by tabs. An argument is {@code i5}, {@code l5},
 * {@code ztrue} or {@code stext}. The answer has a line per call: {@code i5}, {@code l5}, {@code ztrue}, {@code stext},
 * {@code n} for null, an empty Optional or void, and {@code !Class message} for what was thrown. A collection is answered
 * as {@code [} and its elements, separated by tabs; anything else by its text. Private methods can be called.
 */
public final class Calls {
    private Calls() {}

    public static String run(Object target, String script) {
        StringJoiner answers = new StringJoiner("\n");
        for (String line : script.split("\n")) {
            answers.add(call(target, line.split("\t")));
        }
        return answers.toString();
    }

    private static String call(Object target, String[] words) {
        Object[] arguments = new Object[words.length - 1];
        for (int i = 0; i < arguments.length; i++) {
            arguments[i] = argument(words[i + 1]);
        }
        try {
            return answer(find(target.getClass(), words[0], arguments.length).invoke(target, arguments));
        } catch (InvocationTargetException e) {
            return "!" + e.getCause().getClass().getSimpleName() + " " + clean(e.getCause().getMessage());
        } catch (ReflectiveOperationException e) {
            throw new IllegalArgumentException(e);
        }
    }

    private static Object argument(String word) {
        String text = word.substring(1);
        switch (word.charAt(0)) {
            case 'i':
                return Integer.valueOf(text);
            case 'l':
                return Long.valueOf(text);
            case 'z':
                return Boolean.valueOf(text);
            case 's':
                return text;
            default:
                throw new IllegalArgumentException(word);
        }
    }

    private static Method find(Class<?> type, String name, int arguments) throws NoSuchMethodException {
        for (Class<?> at = type; at != null; at = at.getSuperclass()) {
            for (Method method : at.getDeclaredMethods()) {
                if (method.getName().equals(name) && method.getParameterCount() == arguments && !method.isBridge()) {
                    method.setAccessible(true);
                    return method;
                }
            }
        }
        throw new NoSuchMethodException(type.getName() + "." + name + "/" + arguments);
    }

    private static String answer(Object value) {
        if (value instanceof Optional) {
            return answer(((Optional<?>) value).orElse(null));
        }
        if (value == null) {
            return "n";
        }
        if (value instanceof Integer) {
            return "i" + value;
        }
        if (value instanceof Long) {
            return "l" + value;
        }
        if (value instanceof Boolean) {
            return "z" + value;
        }
        if (value instanceof Collection) {
            StringJoiner elements = new StringJoiner("\t", "[", "");
            for (Object element : (Collection<?>) value) {
                elements.add(answer(element));
            }
            return elements.toString();
        }
        return "s" + clean(value.toString());
    }

    private static String clean(String text) {
        return text == null ? "" : text.replace('\n', ' ').replace('\t', ' ');
    }
}
