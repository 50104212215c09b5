#include "cli/chat_session.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cli/messages_file.h"
#include "support/expect_error.h"
#include "support/temp_folder.h"

namespace colugo {
namespace {

using testing::TempFolder;

TEST(ChatLine, ASlashBeginsACommand) {
    EXPECT_EQ(parse_chat_line("Hi /help").action, ChatAction::message);
    EXPECT_EQ(parse_chat_line(" /help").text, " /help");
    EXPECT_EQ(parse_chat_line("/help").action, ChatAction::help);
    EXPECT_EQ(parse_chat_line("/quit \t").action, ChatAction::quit);
    const ChatLine system = parse_chat_line("/system  Be brief.\nBe kind. ");
    EXPECT_EQ(system.action, ChatAction::system);
    EXPECT_EQ(system.text, "Be brief.\nBe kind.");
    EXPECT_EQ(parse_chat_line("/system").text, "");
    EXPECT_EQ(parse_chat_line("/save a b.json").text, "a b.json");
}

TEST(ChatLine, RefusesByName) {
    EXPECT_ERROR(ErrorCode::invalid_argument, "no command /helpme; there are /help, /system,",
                 parse_chat_line("/helpme"));
    EXPECT_ERROR(ErrorCode::invalid_argument, "no command /;", parse_chat_line("/"));
    EXPECT_ERROR(ErrorCode::invalid_argument, "/undo takes nothing", parse_chat_line("/undo 2"));
    EXPECT_ERROR(ErrorCode::invalid_argument, "/save FILE", parse_chat_line("/save "));
}

TEST(ChatLine, HelpNamesEveryCommand) {
    const std::string refusal =
        testing::error_of(ErrorCode::invalid_argument, [] { static_cast<void>(parse_chat_line("/x")); });
    for (const char* name : {"/help", "/system", "/reset", "/undo", "/retry", "/stats", "/save", "/quit"}) {
        EXPECT_NE(chat_help().find(name), std::string::npos) << name;
        EXPECT_NE(refusal.find(name), std::string::npos) << name;
    }
}

// "system: be brief|user: 1|assistant: 2"
std::string text_of(const ChatInput& input) {
    std::string text;
    for (const auto& message : input.messages) {
        if (!text.empty()) text += "|";
        text += message.at("role").get<std::string>() + ": " + message.at("content").get<std::string>();
    }
    return text;
}

std::string exchange(ChatSession& session, const std::string& question, const std::string& reply) {
    session.ask(question);
    const std::string asked = text_of(session.input());
    session.answer({std::nullopt, reply});
    return asked;
}

TEST(ChatSession, AsksWithAllThatWasSaid) {
    ChatSession session("be brief");
    EXPECT_EQ(exchange(session, "1", "2"), "system: be brief|user: 1");
    EXPECT_EQ(exchange(session, "3", "4"), "system: be brief|user: 1|assistant: 2|user: 3");
    EXPECT_EQ(session.exchanges(), 2u);
}

TEST(ChatSession, WhatWasThoughtIsKeptApart) {
    ChatSession session;
    session.ask("1");
    session.answer({"so", "2"});
    session.ask("3");
    const ChatInput input = session.input();
    EXPECT_EQ(input.messages[1].at("reasoning_content"), "so");
    EXPECT_FALSE(input.messages[0].contains("reasoning_content"));
}

TEST(ChatSession, UndoDropsTheLastExchange) {
    ChatSession session;
    EXPECT_ERROR(ErrorCode::invalid_argument, "/undo", session.undo());
    exchange(session, "1", "2");
    exchange(session, "3", "4");
    session.undo();
    EXPECT_EQ(exchange(session, "5", "6"), "user: 1|assistant: 2|user: 5");
}

TEST(ChatSession, RetryKeepsAReplyUntilThereIsAnother) {
    ChatSession session;
    EXPECT_ERROR(ErrorCode::invalid_argument, "/retry", session.ask_again());
    exchange(session, "1", "2");
    exchange(session, "3", "4");
    session.ask_again();
    EXPECT_EQ(text_of(session.input()), "user: 1|assistant: 2|user: 3");
    session.give_up();
    session.ask("5");
    EXPECT_EQ(text_of(session.input()), "user: 1|assistant: 2|user: 3|assistant: 4|user: 5");
    session.give_up();
    session.ask_again();
    session.answer({std::nullopt, "7"});
    EXPECT_EQ(exchange(session, "8", "9"), "user: 1|assistant: 2|user: 3|assistant: 7|user: 8");
}

TEST(ChatSession, BeginsAnew) {
    ChatSession session("a");
    exchange(session, "1", "2");
    session.reset();
    EXPECT_EQ(exchange(session, "3", "4"), "system: a|user: 3");
    session.begin("b");
    EXPECT_EQ(exchange(session, "5", "6"), "system: b|user: 5");
    session.begin("");
    EXPECT_EQ(exchange(session, "7", "8"), "user: 7");
}

TEST(ChatSession, BytesThatAreNoTextDoNotStopIt) {
    const TempFolder folder;
    ChatSession session("\xFF");
    EXPECT_EQ(exchange(session, "\xE4z", "2"), "system: \uFFFD|user: \uFFFDz");
    session.save(folder.path() + "/a");
}

TEST(ChatSession, SavesWhatRunReads) {
    const TempFolder folder;
    const std::string path = folder.path() + "/chat.json";
    ChatSession session("be brief");
    EXPECT_ERROR(ErrorCode::invalid_argument, "nothing has been said", session.save(path));
    session.ask("\"1\"\n\U0001F600");
    session.answer({"so", "2"});
    session.save(path);
    const ChatInput input = read_messages_file(path);
    EXPECT_EQ(text_of(input), "system: be brief|user: \"1\"\n\U0001F600|assistant: 2");
    EXPECT_EQ(input.messages[2].at("reasoning_content"), "so");
    exchange(session, "3", "4");
    session.save(folder.path() + "/./chat.json");  // another name of the file it wrote
    EXPECT_EQ(read_messages_file(path).messages.size(), 5u);
    session.save(folder.path() + "/other.json");
    session.save(path);
    const std::filesystem::directory_iterator files(folder.path());
    EXPECT_EQ(std::distance(begin(files), end(files)), 2);  // nothing else is left behind
}

TEST(ChatSession, NoOtherFileIsReplaced) {
    const TempFolder folder;
    ChatSession session;
    exchange(session, "1", "2");
    const std::string foreign = folder.write("foreign", "x");
    EXPECT_ERROR(ErrorCode::invalid_argument, "already", session.save(foreign));
    EXPECT_ERROR(ErrorCode::invalid_argument, "already", session.save(folder.path()));
    std::filesystem::create_symlink("nowhere", folder.path() + "/link");
    EXPECT_ERROR(ErrorCode::invalid_argument, "already", session.save(folder.path() + "/link"));
    const std::string own = folder.path() + "/own";
    session.save(own);
    folder.write("own", "somebody has written to it");
    EXPECT_ERROR(ErrorCode::invalid_argument, "already", session.save(own));
    EXPECT_ERROR(ErrorCode::not_found, folder.path() + "/none", session.save(folder.path() + "/none/a"));
    EXPECT_EQ(std::filesystem::file_size(foreign), 1u);
}

}  // namespace
}  // namespace colugo
